#include <algorithm>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/combined_rows.hpp"
#include "troupe/ops/pipeline/held_rows.hpp"
#include "troupe/ops/pipeline/with_row_named.hpp"

namespace troupe {

namespace {

constexpr std::int64_t kMostTurns = std::int64_t{1} << 20;

class Interleaved final : public Transform {
 public:
  Interleaved(TransformPtr input, RowFields fields, PipelineOfRow function, Interleaving options)
      : Transform(std::move(fields), input->number() + 1),
        input_(std::move(input)),
        function_(std::move(function)),
        options_(options) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return std::make_unique<Stream>(*this, epoch);
  }
  void describe(ByteSequence& to) const override {
    to.add("interleave");
    to.add(options_.cycle);
    to.add(options_.block);
    input_->describe(to);
  }

 private:
  /// A pipeline that is read: the row of the input that made it, by number, and its rows.
  struct Turn {
    std::int64_t number = 0;
    TransformPtr pipeline = nullptr;
    std::unique_ptr<RowStream> rows = nullptr;
  };

  Turn turn_of(const Row& row, std::int64_t number, const RowEpoch& epoch) const {
    Turn turn{number, with_row_named("interleave", row, [&] {
                auto pipeline = function_(RowView(input_->fields(), row));
                if (pipeline == nullptr || pipeline->fields() != fields())
                  throw Error("interleave", "the pipeline of the row has other fields than " + to_string(fields()));
                return pipeline;
              })};
    // Input 0 is the input of this transform; the pipelines have the random numbers of the inputs behind it.
    turn.rows = turn.pipeline->open(epoch.of_input(number + 1));
    return turn;
  }

  class Stream final : public RowStream {
   public:
    Stream(const Interleaved& interleaved, const RowEpoch& epoch)
        : interleaved_(interleaved),
          epoch_(epoch),
          input_(interleaved.input_->open(epoch.of_input(0))),
          turns_(static_cast<std::size_t>(interleaved.options_.cycle)) {}

    bool next(Row& row) override {
      for (;;) {
        auto& turn = turns_[turn_];
        if (turn.rows == nullptr) begin(turn);
        if (turn.rows != nullptr && read_ < interleaved_.options_.block) {
          if (turn.rows->next(row)) {
            ++read_;
            return true;
          }
          input_.release(turn.number);
          turn = {};
        }
        if (ended_ && std::ranges::all_of(turns_, [](const Turn& one) { return one.rows == nullptr; })) return false;
        turn_ = (turn_ + 1) % turns_.size();
        read_ = 0;
      }
    }

    // The input, the turn, the number of rows read in it, and for each turn the number of its row, plus 1, and the
    // position in its pipeline; 0 for a turn without a pipeline.
    void save(Position& position) const override {
      input_.save(position);
      position.push_back(static_cast<std::int64_t>(turn_));
      position.push_back(read_);
      for (const auto& turn : turns_) {
        position.push_back(turn.rows == nullptr ? 0 : turn.number + 1);
        if (turn.rows != nullptr) turn.rows->save(position);
      }
    }
    void load(PositionReader& position) override {
      const auto rows = input_.load(position);
      const auto first = input_.pulled() - static_cast<std::int64_t>(rows.size());
      turn_ = static_cast<std::size_t>(position.take(0, interleaved_.options_.cycle - 1));
      read_ = position.take(0, interleaved_.options_.block);
      ended_ = false;
      std::vector<bool> is_read(rows.size(), false);
      for (auto& turn : turns_) {
        turn = {};
        const auto number = position.take(0, input_.pulled()) - 1;
        if (number < 0) continue;
        const auto i = static_cast<std::size_t>(number - first);
        if (number < first || is_read[i]) throw Error("interleave", "the position does not belong to this pipeline");
        is_read[i] = true;
        turn = interleaved_.turn_of(rows[i], number, epoch_);
        turn.rows->load(position);
      }
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (!is_read[i]) input_.release(first + static_cast<std::int64_t>(i));
    }

   private:
    /// Begins to read the pipeline of the next row of the input, if there is one.
    void begin(Turn& turn) {
      Row row;
      ended_ = ended_ || !input_.next(row);
      if (!ended_) turn = interleaved_.turn_of(row, input_.pulled() - 1, epoch_);
    }

    const Interleaved& interleaved_;
    RowEpoch epoch_;
    HeldRows input_;
    std::vector<Turn> turns_;
    std::size_t turn_ = 0;   // the turn whose pipeline is read
    std::int64_t read_ = 0;  // the number of rows read in this turn
    bool ended_ = false;     // whether the input has ended
  };

  TransformPtr input_;
  PipelineOfRow function_;
  Interleaving options_;
};

}  // namespace

TransformPtr interleaved_rows(TransformPtr input, RowFields fields, PipelineOfRow function, Interleaving options) {
  if (options.cycle < 1 || options.cycle > kMostTurns)
    throw Error("interleave", "a cycle cannot have " + std::to_string(options.cycle) + " pipelines");
  if (options.block < 1) throw Error("interleave", "a block cannot have " + std::to_string(options.block) + " rows");
  return std::make_shared<Interleaved>(std::move(input), std::move(fields), std::move(function), options);
}

}  // namespace troupe
