#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// [M, K] x [K, N] -> [M, N], either side optionally transposed. Rows of the batch may be M, or K if a is transposed.
Value matmul(Value a, Value b, MatmulOptions options = {});

/// x [M, K] times weights [K, N] plus bias [N]: a dense layer in one op.
Value linear(Value x, Value weights, Value bias);

}  // namespace troupe
