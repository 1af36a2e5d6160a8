#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "troupe/ops/pipeline/row_stream.hpp"

namespace troupe {

/// The rows of a stream for a transform that holds rows for some time, such as a shuffle buffer. The position is a
/// mark, which is a position of the stream at or a few rows before the oldest held row, and two numbers: load() reads
/// the rows behind the mark again. Used on one thread at a time.
class HeldRows {
 public:
  explicit HeldRows(std::unique_ptr<RowStream> stream);

  /// Sets `row` to the next row of the stream, which is held until release(). Its number is pulled() - 1. Returns false
  /// if there is none.
  bool next(Row& row);
  /// The number of rows that have been pulled from the stream, and the number of the next row.
  std::int64_t pulled() const { return oldest_ + static_cast<std::int64_t>(is_held_.size()); }
  /// Ends the holding of a row, by its number, which must be that of a held row.
  void release(std::int64_t number);

  void save(Position& position) const;
  /// Decides whether a row is held that load() reads again.
  using IsHeld = std::function<bool(std::int64_t number, Row& row)>;
  /// Continues at a position. Calls `is_held` for the rows from the mark on that had been pulled, in ascending order;
  /// it may move the row. Throws Error if the position belongs to another stream.
  void load(PositionReader& position, const IsHeld& is_held);

 private:
  struct Mark {
    std::int64_t number;  // the number of the row behind the position
    Position position;
  };
  /// The number of rows from a mark to the next.
  static constexpr std::int64_t kRowsOfMark = 64;

  void add_mark();

  std::unique_ptr<RowStream> stream_;
  std::int64_t oldest_ = 0;   // the number of the oldest held row; that of the next row if no row is held
  std::deque<bool> is_held_;  // for each row that has been pulled, from the oldest held one on
  std::deque<Mark> marks_;    // ascending; the first is the newest at or before oldest_
};

}  // namespace troupe
