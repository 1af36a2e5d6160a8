#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The index of the largest element along an axis: int32. The axis is removed and must not be the batch. Of equal
/// elements the first counts, and a NaN counts as the largest.
Value argmax(Value x, std::int64_t axis);

struct TopK {
  Value values;   ///< float32 [..., k], largest first
  Value indices;  ///< int32 [..., k], the index of each value in x
};

/// The k largest elements along the last axis. Equal elements keep their order, and a NaN counts as the largest. The
/// chosen elements get the gradient.
TopK top_k(Value x, std::int64_t k);

/// For every element the sum of the elements up to and including it along an axis, which must not be the batch.
Value cumulative_sum(Value x, std::int64_t axis);

}  // namespace troupe
