#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The attribute of products of 16-bit floats whose result is float32; else it has the dtype of the factors.
inline constexpr const char* kFloat32Result = "float32_result";

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// [..., M, K] x [..., K, N] -> [..., M, N], the last two axes of either side optionally transposed. The leading axes
/// are the same on both sides, one product each; or b has none, then all rows of a are multiplied by it (and a cannot
/// be transposed if it has leading axes). Of two matrices the rows of the batch may be M, or K if a is transposed.
Value matmul(Value a, Value b, MatmulOptions options = {});

/// x [..., K] times weights [K, N] plus bias [N] -> [..., N]: a dense layer in one op.
Value linear(Value x, Value weights, Value bias);

/// a [..., M] and b [..., N] with the same leading axes -> [M, N]: the sum over these of the products of each row of a
/// with that of b, as in the gradient of a dense layer's weights. The sum is float32, whatever the inputs are.
Value outer_sum(Value a, Value b);

}  // namespace troupe
