#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The name of the attribute that gives a matmul of 16-bit floats a float32 result. The result of a matmul without the
/// attribute has the dtype of the factors.
inline constexpr const char* kFloat32Result = "float32_result";

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// Returns the product [..., M, N] of a [..., M, K] and b [..., K, N], which must have the same float dtype. The
/// options swap the last two axes of a factor. The leading axes of a and b must be the same, and each position along
/// them has a product of its own. Alternatively, b has no leading axes and multiplies all rows of a; then a must not be
/// transposed if it has leading axes. In a product of two matrices the batch axis B may be M, or K if a is transposed.
/// If a has leading axes, B may only be the first of them.
Value matmul(Value a, Value b, MatmulOptions options = {});

/// A dense layer in one op: returns [..., N], x [..., K] times weights [K, N] plus bias [N]. All must have the same
/// float dtype, and K must be at least 1.
Value linear(Value x, Value weights, Value bias);

/// Returns float32 [M, N]: the sum, over the leading axes, of the outer products of the rows of a and b, as in the
/// gradient of a dense layer's weights. a must be [..., M] and b [..., N] with the same leading axes and the same float
/// dtype.
Value outer_sum(Value a, Value b);

/// Makes the columns of x orthogonal to each other, first column first, and of length 1, by the modified Gram-Schmidt
/// process. x must be float32 [m, n] and must not have the batch axis B. A column that depends linearly on earlier
/// ones, up to rounding, becomes zero. A column with a NaN and all columns after it become NaN. The op has no gradient.
Value orthonormalize(Value x);

}  // namespace troupe
