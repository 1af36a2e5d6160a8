#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The attribute of a product of 16-bit floats whose result is float32. Without it the result has the dtype of the
/// factors.
inline constexpr const char* kFloat32Result = "float32_result";

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// a [..., M, K] times b [..., K, N] -> [..., M, N]. The options swap the last two axes of a factor. Leading axes are
/// the same on both sides, and each position on them has a product of its own. A b without leading axes multiplies all
/// rows of a; an a with leading axes cannot be transposed then. In a product of two matrices the batch may be M, or K
/// if a is transposed.
Value matmul(Value a, Value b, MatmulOptions options = {});

/// A dense layer in one op: x [..., K] times weights [K, N] plus bias [N] -> [..., N].
Value linear(Value x, Value weights, Value bias);

/// a [..., M] and b [..., N] with the same leading axes -> [M, N]: the sum over the leading axes of the outer products
/// of the rows of a and b, as in the gradient of a dense layer's weights. The sum is float32 for every dtype of the
/// inputs.
Value outer_sum(Value a, Value b);

/// The modified Gram-Schmidt process: the columns of a matrix float32 [m, n] are made orthogonal to each other, first
/// column first, and of length 1. A column that depends on earlier ones, up to rounding, becomes zero. It passes no
/// gradient on.
Value orthonormalize(Value x);

}  // namespace troupe
