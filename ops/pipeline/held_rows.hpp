#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
  /// Ends the holding of a row, by its number.
  void release(std::int64_t number);

  void save(Position& position) const;
  /// Continues at a position. Returns the rows from the mark on that had been pulled, in order; the last has the number
  /// pulled() - 1. All of them are held. Throws Error if the position belongs to another stream.
  std::vector<Row> load(PositionReader& position);

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
