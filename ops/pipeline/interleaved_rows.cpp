#include <algorithm>
#include <stdexcept>
#include <unordered_map>
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
  /// A pipeline that is read: the number of the row of the input that made it, and its rows, which go before it.
  struct Turn {
    std::int64_t number;
    TransformPtr pipeline;
    std::unique_ptr<RowStream> rows;
  };

  std::unique_ptr<Turn> turn_of(const Row& row, std::int64_t number, const RowEpoch& epoch) const {
    auto pipeline = with_row_named("interleave", row, [&] {
      auto made = function_(RowView(input_->fields(), row));
      if (made == nullptr || made->fields() != fields())
        throw std::invalid_argument("the pipeline of the row has other fields than " + to_string(fields()));
      return made;
    });
    // Input 0 is the input of this transform; the pipelines have the random numbers of the inputs behind it.
    auto rows = pipeline->open(epoch.of_input(number + 1));
    return std::make_unique<Turn>(Turn{number, std::move(pipeline), std::move(rows)});
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
        if (turn == nullptr) turn = next_turn();
        if (turn != nullptr && read_ < interleaved_.options_.block) {
          if (turn->rows->next(row)) {
            ++read_;
            return true;
          }
          input_.release(turn->number);
          turn = nullptr;
        }
        if (ended_ && std::ranges::all_of(turns_, [](const auto& one) { return one == nullptr; })) return false;
        turn_ = (turn_ + 1) % turns_.size();
        read_ = 0;
      }
    }

    // The turn, the number of rows read in it, for each turn the number of its row, plus 1, or 0 for a turn without a
    // pipeline, the position of the input and those of the pipelines.
    void save(Position& position) const override {
      position.push_back(static_cast<std::int64_t>(turn_));
      position.push_back(read_);
      for (const auto& turn : turns_) position.push_back(turn == nullptr ? 0 : turn->number + 1);
      input_.save(position);
      for (const auto& turn : turns_)
        if (turn != nullptr) turn->rows->save(position);
    }
    void load(PositionReader& position) override {
      turn_ = static_cast<std::size_t>(position.take(0, interleaved_.options_.cycle - 1));
      read_ = position.take(0, interleaved_.options_.block);
      ended_ = false;
      std::unordered_map<std::int64_t, std::unique_ptr<Turn>*> held;
      for (auto& turn : turns_) {
        turn = nullptr;
        if (const auto number = position.take(0) - 1; number >= 0) held[number] = &turn;
      }
      input_.load(position, [&](std::int64_t number, const Row& row) {
        const auto turn = held.find(number);
        if (turn == held.end()) return false;
        *turn->second = interleaved_.turn_of(row, number, epoch_);
        held.erase(turn);
        return true;
      });
      if (!held.empty()) throw Error("interleave", "the position does not belong to this pipeline");
      for (const auto& turn : turns_)
        if (turn != nullptr) turn->rows->load(position);
    }

   private:
    /// The pipeline of the next row of the input; null if there is none.
    std::unique_ptr<Turn> next_turn() {
      Row row;
      ended_ = ended_ || !input_.next(row);
      return ended_ ? nullptr : interleaved_.turn_of(row, input_.pulled() - 1, epoch_);
    }

    const Interleaved& interleaved_;
    RowEpoch epoch_;
    HeldRows input_;
    std::vector<std::unique_ptr<Turn>> turns_;
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
