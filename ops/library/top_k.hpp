#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns int32: the index of the largest element along an axis of x, which must be float32. The axis is counted from
/// 0 and removed from the shape; it must not be the batch axis B. Of equal largest elements the first counts, and a NaN
/// counts as the largest.
Value argmax(Value x, std::int64_t axis);

struct TopK {
  Value values;   ///< float32 [..., k], largest first
  Value indices;  ///< int32 [..., k], the index of each value in x
};

/// The k largest elements along the last axis of x, which must be float32. k must be 1 to the size of that axis. Equal
/// elements keep their order, and a NaN counts as the largest. The gradient of `values` goes to these k elements; the
/// gradient of all others is 0.
TopK top_k(Value x, std::int64_t k);

/// For every element of x, which must be float32, the sum of the elements up to and including it along an axis. The
/// axis is counted from 0 and must not be the batch axis B.
Value cumulative_sum(Value x, std::int64_t axis);

}  // namespace troupe
