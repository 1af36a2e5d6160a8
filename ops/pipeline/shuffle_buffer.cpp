#include "troupe/ops/pipeline/shuffle_buffer.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/held_rows.hpp"
#include "troupe/ops/pipeline/row_memory.hpp"

namespace troupe {

namespace {

/// A row in a buffer, with its number in the input.
struct BufferedRow {
  std::int64_t number = 0;
  Row row = {};
};

/// A buffer of up to `capacity` rows. Row i of the input comes to place i, and draw i takes a row from one of the
/// places i, i + 1, ..., up to the last that has a row; the row of place i takes its place.
class RowBuffer {
 public:
  RowBuffer(std::int64_t capacity, std::uint64_t seed) : capacity_(capacity), seed_(seed) {}

  std::int64_t drawn() const { return drawn_; }
  bool is_empty() const { return added_ == drawn_; }
  bool is_full() const { return added_ - drawn_ == capacity_; }
  void add(Row row) {
    // The memory grows with the rows, since the capacity may be larger than the input.
    if (std::cmp_less(rows_.size(), capacity_)) rows_.emplace_back();
    at(added_) = {added_, std::move(row)};
    ++added_;
  }
  BufferedRow draw() {
    const auto in_buffer = static_cast<std::uint64_t>(added_ - drawn_);
    const auto draw = static_cast<std::uint64_t>(drawn_);
    std::swap(at(drawn_), at(drawn_ + static_cast<std::int64_t>(uniform_below(in_buffer, seed_, 0, draw))));
    return std::move(at(drawn_++));
  }
  /// The rows in the buffer, by number.
  std::unordered_map<std::int64_t, Row*> by_number() {
    std::unordered_map<std::int64_t, Row*> rows;
    for (auto place = drawn_; place < added_; ++place) rows[at(place).number] = &at(place).row;
    return rows;
  }

 private:
  BufferedRow& at(std::int64_t place) { return rows_[static_cast<std::size_t>(place % capacity_)]; }

  std::int64_t capacity_;
  std::uint64_t seed_;
  std::vector<BufferedRow> rows_;  // by place modulo the capacity
  std::int64_t added_ = 0, drawn_ = 0;
};

class BufferedShuffle final : public Transform {
 public:
  BufferedShuffle(TransformPtr input, std::int64_t capacity)
      : Transform(input->fields(), *input), input_(std::move(input)), capacity_(capacity) {}

  bool is_indexed() const override { return false; }
  std::unique_ptr<RowStream> open(const RowEpoch& epoch) const override {
    return std::make_unique<Stream>(capacity_, RowRandom::seed_of(epoch, number()), input_->open(epoch));
  }
  void describe(ByteSequence& to) const override {
    to.add("shuffle buffer");
    to.add(capacity_);
    input_->describe(to);
  }

 private:
  class Stream final : public RowStream {
   public:
    Stream(std::int64_t capacity, std::uint64_t seed, std::unique_ptr<RowStream> input)
        : capacity_(capacity), seed_(seed), input_(std::move(input)), buffer_(capacity, seed) {}

    bool next(Row& row) override {
      Row pulled;
      while (!buffer_.is_full() && !ended_) {
        ended_ = !input_.next(pulled);
        if (!ended_) buffer_.add(packed(std::move(pulled)));
      }
      if (buffer_.is_empty()) return false;
      auto drawn = buffer_.draw();
      input_.release(drawn.number);
      row = std::move(drawn.row);
      return true;
    }

    // The numbers of rows that have been drawn and added, and the position of the input.
    void save(Position& position) const override {
      position.push_back(buffer_.drawn());
      position.push_back(input_.pulled());
      input_.save(position);
    }
    void load(PositionReader& position) override {
      const auto drawn = position.take(0);
      const auto added = position.take(drawn, drawn > INT64_MAX - capacity_ ? INT64_MAX : drawn + capacity_);
      buffer_ = buffer_at(drawn, added);
      ended_ = false;
      auto held = buffer_.by_number();
      input_.load(position, [&](std::int64_t number, Row& row) {
        const auto place = held.find(number);
        if (place == held.end()) return false;
        *place->second = packed(std::move(row));
        held.erase(place);
        return true;
      });
      if (!held.empty() || input_.pulled() != added)
        throw Error("shuffle", "the position does not belong to this pipeline");
    }

   private:
    /// The buffer, without the elements of its rows, after `added` rows of the input and `drawn` draws.
    RowBuffer buffer_at(std::int64_t drawn, std::int64_t added) const {
      RowBuffer buffer(capacity_, seed_);
      for (std::int64_t rows = 0; buffer.drawn() < drawn || rows < added;) {
        if (rows < added && !buffer.is_full()) {
          buffer.add({});
          ++rows;
        } else {
          buffer.draw();
        }
      }
      return buffer;
    }

    std::int64_t capacity_;
    std::uint64_t seed_;
    HeldRows input_;
    RowBuffer buffer_;
    bool ended_ = false;
  };

  TransformPtr input_;
  std::int64_t capacity_;
};

}  // namespace

TransformPtr buffered_shuffle(TransformPtr input, std::int64_t buffer) {
  if (buffer < 1) throw Error("shuffle", "a buffer cannot have " + std::to_string(buffer) + " rows");
  return std::make_shared<BufferedShuffle>(std::move(input), buffer);
}

}  // namespace troupe
