#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The columns of a matrix float32 [m, n], each made orthogonal to those before it and of length 1, by the modified
/// Gram-Schmidt process. A column of which next to nothing is left becomes zero. It passes no gradient on.
Value orthonormalize(Value x);

}  // namespace troupe
