#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The place of the largest element along an axis, which is removed and must not be the batch: int32. The first of
/// equals; a NaN counts as largest.
Value argmax(Value x, std::int64_t axis);

struct TopK {
  Value values;   ///< float32 [..., k], largest first
  Value indices;  ///< int32 [..., k]: their places
};

/// The k largest elements along the last axis; of equals the first, a NaN as largest. Passes a gradient to the elements
/// chosen.
TopK top_k(Value x, std::int64_t k);

/// Sums over all elements up to each along an axis, which must not be the batch.
Value cumulative_sum(Value x, std::int64_t axis);

}  // namespace troupe
