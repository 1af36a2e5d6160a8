#pragma once

#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// x with its axes in another order: axis i of the result is axis order[i] of x. x may have any dtype. The batch axis B
/// must stay first.
Value transpose(Value x, const std::vector<std::int64_t>& order);

}  // namespace troupe
