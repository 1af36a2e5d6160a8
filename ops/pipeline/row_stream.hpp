#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/pipeline/position.hpp"
#include "troupe/ops/pipeline/row.hpp"

namespace troupe {

/// The rows of one epoch, read one after the other. Used on one thread at a time.
class RowStream {
 public:
  RowStream() = default;
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;
  virtual ~RowStream() = default;

  /// Sets `row` to the next row. Returns false if there is none; later calls then return false, too. After an exception
  /// the stream may be used only after load().
  virtual bool next(Row& row) = 0;
  /// Leaves out the next `count` rows. Returns false if there are fewer.
  virtual bool skip(std::int64_t count) {
    Row row;
    for (; count > 0; --count)
      if (!next(row)) return false;
    return true;
  }

  /// Adds to `position` the position behind the last row that next() has returned.
  virtual void save(Position& position) const = 0;
  /// Continues at a position that save() has added, also one of another stream of the same epoch. Throws Error if it is
  /// no such position.
  virtual void load(PositionReader& position) = 0;
};

/// Rows that can be read in any order. Thread-safe.
class RowReader {
 public:
  RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  virtual ~RowReader() = default;

  virtual std::int64_t size() const = 0;
  /// Returns row `index`, which is in [0, size()).
  virtual Row read(std::int64_t index) const = 0;
  /// Adds `count` rows from `first` on to `rows`, which may take less time than one by one. An exception comes after
  /// the rows before it have been added.
  virtual void read_range(std::int64_t first, std::int64_t count, std::vector<Row>& rows) const {
    for (auto row = first; row < first + count; ++row) rows.push_back(read(row));
  }
};

}  // namespace troupe
