#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// x with its axes in another order: axis i of the result is axis order[i] of x. x has any dtype. The batch stays
/// first.
Value transpose(Value x, const std::vector<std::int64_t>& order);

}  // namespace troupe
