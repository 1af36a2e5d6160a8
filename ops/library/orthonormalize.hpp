#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The modified Gram-Schmidt process: the columns of a matrix float32 [m, n] are made orthogonal to each other, first
/// column first, and of length 1. A column that depends on earlier ones, up to rounding, becomes zero. It passes no
/// gradient on.
Value orthonormalize(Value x);

}  // namespace troupe
