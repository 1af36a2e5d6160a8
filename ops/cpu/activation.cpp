#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/map.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void tanh_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, tanh_of);
}
TROUPE_SIMD_CLONES void tanh_grad_loop(std::int64_t n, const float* dy, const float* y, float* dx) {
  map(n, dy, y, dx, [](float d, float v) { return d * (1.0F - v * v); });
}
TROUPE_SIMD_CLONES void sigmoid_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, sigmoid_of);
}
TROUPE_SIMD_CLONES void sigmoid_grad_loop(std::int64_t n, const float* dy, const float* y, float* dx) {
  map(n, dy, y, dx, [](float d, float v) { return d * (v * (1.0F - v)); });
}
TROUPE_SIMD_CLONES void gelu_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return v * normal_of(v).probability; });
}
TROUPE_SIMD_CLONES void gelu_grad_loop(std::int64_t n, const float* dy, const float* x, float* dx) {
  map(n, dy, x, dx, [](float d, float v) {
    const auto normal = normal_of(v);
    return d * (normal.probability + v * normal.density);
  });
}
TROUPE_SIMD_CLONES void gelu_tanh_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return v * gelu_tanh_part_of(v).part; });
}
TROUPE_SIMD_CLONES void gelu_tanh_grad_loop(std::int64_t n, const float* dy, const float* x, float* dx) {
  map(n, dy, x, dx, [](float d, float v) {
    const auto of_v = gelu_tanh_part_of(v);
    return d * (of_v.part + v * of_v.slope);
  });
}
TROUPE_SIMD_CLONES void silu_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return v * sigmoid_of(v); });
}
TROUPE_SIMD_CLONES void silu_grad_loop(std::int64_t n, const float* dy, const float* x, float* dx) {
  map(n, dy, x, dx, [](float d, float v) {
    const float s = sigmoid_of(v);
    return d * (s * (1.0F + v * (1.0F - s)));
  });
}
TROUPE_SIMD_CLONES void softplus_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, softplus_of);
}

}  // namespace

std::unique_ptr<Kernel> make_tanh(const OpCall&) {
  return map_kernel(tanh_loop);
}
std::unique_ptr<Kernel> make_tanh_grad(const OpCall&) {
  return map_kernel(tanh_grad_loop);
}
std::unique_ptr<Kernel> make_sigmoid(const OpCall&) {
  return map_kernel(sigmoid_loop);
}
std::unique_ptr<Kernel> make_sigmoid_grad(const OpCall&) {
  return map_kernel(sigmoid_grad_loop);
}
std::unique_ptr<Kernel> make_gelu(const OpCall&) {
  return map_kernel(gelu_loop);
}
std::unique_ptr<Kernel> make_gelu_grad(const OpCall&) {
  return map_kernel(gelu_grad_loop);
}
std::unique_ptr<Kernel> make_gelu_tanh(const OpCall&) {
  return map_kernel(gelu_tanh_loop);
}
std::unique_ptr<Kernel> make_gelu_tanh_grad(const OpCall&) {
  return map_kernel(gelu_tanh_grad_loop);
}
std::unique_ptr<Kernel> make_silu(const OpCall&) {
  return map_kernel(silu_loop);
}
std::unique_ptr<Kernel> make_silu_grad(const OpCall&) {
  return map_kernel(silu_grad_loop);
}
std::unique_ptr<Kernel> make_softplus(const OpCall&) {
  return map_kernel(softplus_loop);
}

}  // namespace troupe::cpu
