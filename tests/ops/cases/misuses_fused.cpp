#include "troupe/tests/ops/cases/misuses.hpp"

namespace troupe::ops_test {

std::vector<Misuse> fused_misuses() {
  const auto b16 = [](const Shape& shape) { return TensorInfo{shape, DType::bfloat16}; };
  const TensorInfo integers{{4}, DType::int32};
  const Attributes sgd{{"momentum", 0.5}, {"clipped", false}}, others{{"clipped", false}};
  const auto p = f32({3, 2}), q = f32({5}), rate = f32({});
  const auto sum_of = [](std::int64_t a, std::int64_t b) {
    return Attributes{{"steps", std::vector<std::int64_t>{0, a, b, 0, 0}}};
  };
  const auto y = f32({4, 5});
  const Attributes product{{"transpose_a", false}, {"transpose_b", false}, {"relu", false}};
  const auto relu = product.with("relu", true), transposed = product.with("transpose_b", true);
  return {
      {"matmul_relu_grad", {f32({4, 3}), f32({5, 3})}, transposed},
      {"matmul_relu_grad", {f32({4, 3}), f32({5, 3}), f32({4, 6})}, transposed},
      {"matmul_relu_grad", {b16({4, 3}), b16({5, 3}), b16({4, 5})}, transposed},
      {"matmul_relu_grad", {f32({2, 4, 3}), f32({2, 3, 5}), f32({2, 4, 5})}, product},
      {"matmul_relu_grad", {f32({4, 3}), f32({5, 3}), y}, transposed.with("relu", true)},
      {"product_and_magnitude", {f32({4, 3}), f32({4, 5})}, relu.with("outer", false)},
      {"product_and_magnitude", {f32({2, 4, 3}), f32({2, 4, 5})}, product.with("outer", false)},
      {"product_and_magnitude", {b16({4, 3}), b16({4, 5})}, {{"outer", true}}},
      {"product_and_magnitude", {f32({4, 3}), f32({5, 5})}, {{"outer", true}}},
      {"matmul_gelu_tanh", {f32({4, 3}), f32({2, 5})}, product.with("keeps_product", true)},
      {"matmul_gelu_tanh", {f32({4, 3}), f32({3, 5})}, relu.with("keeps_product", true)},
      {"matmul_gelu_tanh", {f32({2, 4, 3}), f32({2, 3, 5})}, product.with("keeps_product", false)},
      {"matmul_gelu_tanh_grad", {f32({4, 3}), f32({5, 3})}, transposed.with("sums_rows", true)},
      {"matmul_gelu_tanh_grad", {f32({4, 3}), f32({5, 3}), f32({4, 6})}, transposed.with("sums_rows", true)},
      {"matmul_gelu_tanh_grad",
       {f32({3, 4}), f32({3, 5}), y},
       product.with("transpose_a", true).with("sums_rows", true)},
      {"matmul_gelu_tanh_grad", {b16({4, 3}), b16({5, 3}), b16({4, 5})}, transposed.with("sums_rows", true)},
      {"sgd_updates", {p, p, q, q, p, p, rate}, sgd},
      {"sgd_updates", {p, p, q, p, q, rate}, sgd},
      {"sgd_updates", {p, p, q, q, p, q, f32({1})}, sgd},
      {"sgd_updates", {p, p, p, rate}, sgd.with("row_sparse", true)},
      {"adam_updates", {p, p, p, TensorInfo{{}, DType::int64}, p, rate}, others},
      {"adam_updates", {p, p, p, p, p, rate}, others},
      {"adam_updates", {rate}, others},
      {"squares_updates", {p, q, p, rate}, others},
      {"fused_elementwise", {f32({4}), f32({5})}, sum_of(0, 1)},
      {"fused_elementwise", {f32({4}), f32({4})}, sum_of(0, 2)},
      {"fused_elementwise", {f32({4}), integers}, sum_of(0, 1)},
      {"fused_elementwise", {f32({4, 1}), f32({4, 3})}, sum_of(0, 1)},
  };
}

}  // namespace troupe::ops_test
