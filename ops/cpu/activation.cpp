#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/map.hpp"

namespace troupe::cpu {

TROUPE_UNARY_KERNEL(make_tanh, tanh_of)
TROUPE_BINARY_KERNEL(make_tanh_grad, [](float dy, float y) { return dy * (1.0F - y * y); })

TROUPE_UNARY_KERNEL(make_sigmoid, sigmoid_of)
TROUPE_BINARY_KERNEL(make_sigmoid_grad, [](float dy, float y) { return dy * (y * (1.0F - y)); })

TROUPE_UNARY_KERNEL(make_gelu, [](float x) { return x * normal_of(x).probability; })
TROUPE_BINARY_KERNEL(make_gelu_grad, [](float dy, float x) {
  const auto normal = normal_of(x);
  return dy * (normal.probability + x * normal.density);
})

TROUPE_UNARY_KERNEL(make_gelu_tanh, [](float x) { return x * gelu_tanh_part_of(x).part; })
TROUPE_BINARY_KERNEL(make_gelu_tanh_grad, [](float dy, float x) {
  const auto of_x = gelu_tanh_part_of(x);
  return dy * (of_x.part + x * of_x.slope);
})

TROUPE_UNARY_KERNEL(make_silu, [](float x) { return x * sigmoid_of(x); })
TROUPE_BINARY_KERNEL(make_silu_grad, [](float dy, float x) {
  const float s = sigmoid_of(x);
  return dy * (s * (1.0F + x * (1.0F - s)));
})

TROUPE_UNARY_KERNEL(make_softplus, softplus_of)

}  // namespace troupe::cpu
