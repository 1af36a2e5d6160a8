#include <algorithm>
#include <cmath>

#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/map.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void square_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return v * v; });
}
TROUPE_SIMD_CLONES void clip_loop(std::int64_t n, const float* x, float least, float most, float* y) {
  map(n, x, y, [=](float v) { return v < least ? least : (v > most ? most : v); });
}
TROUPE_SIMD_CLONES void clip_grad_loop(std::int64_t n, const float* dy, const float* x, float least, float most,
                                       float* dx) {
  map(n, dy, x, dx, [=](float d, float v) { return v < least || v > most ? 0.0F : d; });
}

}  // namespace

TROUPE_UNARY_KERNEL(make_exp, exp_or_zero)
TROUPE_UNARY_KERNEL(make_log, log_of)
TROUPE_UNARY_KERNEL(make_sqrt, [](float x) { return std::sqrt(x); })
TROUPE_UNARY_KERNEL(make_rsqrt, [](float x) { return 1.0F / std::sqrt(x); })
TROUPE_UNARY_KERNEL(make_abs, [](float x) { return std::abs(x); })
TROUPE_BINARY_KERNEL(make_abs_grad, [](float dy, float x) { return x > 0.0F ? dy : (x < 0.0F ? -dy : x * 0.0F); })

std::unique_ptr<Kernel> make_pow(const OpCall& call) {
  const auto exponent = float_attribute(call, "exponent");
  if (exponent == 2.0F) return map_kernel(square_loop);
  return function_kernel([exponent](Inputs in, Outputs out) {
    const auto x = in[0].data<float>();
    std::ranges::transform(x, mutable_floats(out[0]), [exponent](float v) { return std::pow(v, exponent); });
  });
}

std::unique_ptr<Kernel> make_clip(const OpCall& call) {
  return function_kernel(
      [least = float_attribute(call, "least"), most = float_attribute(call, "most")](Inputs in, Outputs out) {
        clip_loop(out[0].elements(), floats(in[0]), least, most, mutable_floats(out[0]));
      });
}

std::unique_ptr<Kernel> make_clip_grad(const OpCall& call) {
  return function_kernel(
      [least = float_attribute(call, "least"), most = float_attribute(call, "most")](Inputs in, Outputs out) {
        clip_grad_loop(out[0].elements(), floats(in[0]), floats(in[1]), least, most, mutable_floats(out[0]));
      });
}

}  // namespace troupe::cpu
