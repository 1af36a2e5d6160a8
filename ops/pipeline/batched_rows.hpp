#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

namespace troupe {

/// Rows with an axis more: the rows of each batch one behind the other. The last batch has the rows that are left, or
/// is dropped. Indexed if the input is. Throws Error if a size of the input varies, or `rows` is below 1.
TransformPtr batched_rows(TransformPtr input, std::int64_t rows, bool drop_last);

struct PaddedBatches {
  /// The number of rows of a batch.
  std::int64_t rows = 1;
  /// The bounds of the buckets, ascending. A row belongs to the first bucket whose bound is at least its length, and a
  /// batch has rows of one bucket, padded to the bound. Without bounds, a batch has consecutive rows, padded to the
  /// longest.
  std::vector<std::int64_t> lengths = {};
  /// The field whose first axis is the length of a row; empty: the first field with a first axis that varies.
  std::string length_of = {};
  /// The elements behind the end of a row, by field; 0 for other fields.
  std::map<std::string, double> padding = {};
  /// True: batches with fewer rows at the end of an epoch are dropped. False: they follow, by ascending bounds.
  bool drop_last = false;
};

/// Batches of rows whose first axes vary in size; fields whose first axis varies are padded. Throws Error if another
/// axis varies, a field does not exist or an option is out of range. Reading throws Error for a row that is longer than
/// the last bound, and names the row.
TransformPtr padded_batches(TransformPtr input, PaddedBatches options);

/// The rows of batches: the first axes of all fields, which must have one size. Throws Error if a field has no axis.
TransformPtr unbatched_rows(TransformPtr input);

/// Throws Error if a dtype cannot hold a number as padding.
void check_padding(DType dtype, double padding);

/// Copies tensors of one dtype to a new tensor [N, sizes...], one row each. A tensor whose first axis is shorter than
/// that of `shape`, the shape of a row, is followed by elements equal to `padding`.
Tensor stacked(std::span<const Tensor> rows, const Shape& shape, DType dtype, double padding = 0.0);

}  // namespace troupe
