#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns log(sum(exp(x))) over the last axis, float32 [...]. x must be float32 [..., C] with C > 0; its last axis
/// must not be the batch. The sum is computed from x minus the largest element of the row, so it does not overflow. A
/// row whose largest element is infinite gives that element; a row with a NaN gives NaN.
Value logsumexp(Value x);

}  // namespace troupe
