#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// The rows that a function makes of one row. The fields must outlive the object.
class RowSink {
 public:
  RowSink(const RowFields& fields, RowOrigin origin) : fields_(fields), origin_(std::move(origin)) {}

  /// Adds a row, whose fields the caller sets before it adds another.
  RowWriter add() {
    rows_.push_back({std::vector<Tensor>(fields_.size()), origin_});
    return {fields_, rows_.back()};
  }
  std::vector<Row>& rows() { return rows_; }

 private:
  const RowFields& fields_;
  RowOrigin origin_;
  std::vector<Row> rows_;
};

// The functions of users. They may be called on any thread, several at a time unless MapOptions::serial is set, and
// must give the same result for the same row and random numbers. If one throws, the error of the pipeline names the
// row.

/// Sets the fields of the row `out`. A field that the function does not set, and that `in` has with the same name, is
/// taken from `in`.
using MapFunction = std::function<void(const RowView& in, RowWriter& out, RowRandom& random)>;
/// True for a row that is kept.
using FilterFunction = std::function<bool(const RowView& row, RowRandom& random)>;
/// Adds any number of rows to `out`, with all of their fields.
using FlatMapFunction = std::function<void(const RowView& in, RowSink& out, RowRandom& random)>;

/// The effect of a function that throws for a row.
enum class UnreadableRows {
  stop,  ///< reading throws an Error that names the row
  skip   ///< the row is left out
};

struct MapOptions {
  /// True: the function is called for one row after the other, in order, because it is not thread-safe.
  bool serial = false;
  UnreadableRows on_error = UnreadableRows::stop;
  /// With UnreadableRows::skip, the number of rows left out is added to it, if it is set. Rows that a reader reads
  /// again after a change of its position count again.
  std::shared_ptr<std::atomic<std::int64_t>> skipped = nullptr;
};

/// One row with `fields` for each row. Indexed if the input is, unless the function is serial or rows are left out.
TransformPtr map_rows(const TransformPtr& input, RowFields fields, MapFunction function, MapOptions options = {});
/// The rows for which a function is true.
TransformPtr filter_rows(const TransformPtr& input, FilterFunction function, MapOptions options = {});
/// Any number of rows with `fields` for each row. `kind` is the name of the transform in errors.
TransformPtr flat_map_rows(TransformPtr input, RowFields fields, FlatMapFunction function, MapOptions options = {},
                           const char* kind = "flat_map");

}  // namespace troupe
