#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// log(sum(exp(x))) over the last axis, which is removed: float32 [..., C] -> [...]. Computed from x minus its largest
/// element, so it does not overflow. The last axis must not be the batch and must not be empty. A row whose largest
/// element is infinite gives that element; a NaN gives a NaN.
Value logsumexp(Value x);

}  // namespace troupe
