#pragma once

#include <span>
#include <vector>

#include "troupe/ops/pipeline/transform.hpp"

// Transforms that visit some of the rows of their input, or all of them in another order. Those in ranges work for
// every input; the others read rows by number, so that their input must be indexed.

namespace troupe {

/// The rows first, first + step, ... below first + step * count of an input.
struct RowSteps {
  static constexpr std::int64_t kToEnd = INT64_MAX;

  std::int64_t first = 0;
  std::int64_t step = 1;
  /// The largest number of rows.
  std::int64_t count = kToEnd;
};

/// The rows in a range, as far as the input has them. Indexed if the input is. Throws Error if a number is negative or
/// the step is 0.
TransformPtr range_of_rows(TransformPtr input, RowSteps range);
/// The rows with these numbers, in this order. Throws Error if the input is not indexed or has no such row.
TransformPtr subset_of_rows(TransformPtr input, std::vector<std::int64_t> numbers);
/// All rows, shuffled in another order each epoch, by a KeyedPermutation. Throws Error if the input is not indexed.
TransformPtr shuffled_rows(TransformPtr input);
/// `rows` rows in each epoch. Each is drawn from all rows with a probability in proportion to its weight, so that rows
/// occur several times. Draws by the alias method: M. Vose, "A linear algorithm for generating random numbers with a
/// given distribution" (1991). Throws Error if the input is not indexed, or if the weights are not one finite number of
/// at least 0 for each row with a positive sum.
TransformPtr sampled_rows(TransformPtr input, std::span<const double> weights, std::int64_t rows);

}  // namespace troupe
