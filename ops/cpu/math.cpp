#include <algorithm>
#include <cmath>

#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/map.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void exp_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, exp_or_zero);
}
TROUPE_SIMD_CLONES void log_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, log_of);
}
TROUPE_SIMD_CLONES void sqrt_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return std::sqrt(v); });
}
TROUPE_SIMD_CLONES void rsqrt_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return 1.0F / std::sqrt(v); });
}
TROUPE_SIMD_CLONES void abs_loop(std::int64_t n, const float* x, float* y) {
  map(n, x, y, [](float v) { return std::abs(v); });
}
TROUPE_SIMD_CLONES void abs_grad_loop(std::int64_t n, const float* dy, const float* x, float* dx) {
  map(n, dy, x, dx, [](float d, float v) { return v > 0.0F ? d : (v < 0.0F ? -d : v * 0.0F); });
}
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

/// The limits of the clip ops.
struct Limits {
  float least, most;
  explicit Limits(const OpCall& call)
      : least(static_cast<float>(call.attributes.number("least"))),
        most(static_cast<float>(call.attributes.number("most"))) {}
};

}  // namespace

std::unique_ptr<Kernel> make_exp(const OpCall&) {
  return map_kernel(exp_loop);
}
std::unique_ptr<Kernel> make_log(const OpCall&) {
  return map_kernel(log_loop);
}
std::unique_ptr<Kernel> make_sqrt(const OpCall&) {
  return map_kernel(sqrt_loop);
}
std::unique_ptr<Kernel> make_rsqrt(const OpCall&) {
  return map_kernel(rsqrt_loop);
}
std::unique_ptr<Kernel> make_abs(const OpCall&) {
  return map_kernel(abs_loop);
}
std::unique_ptr<Kernel> make_abs_grad(const OpCall&) {
  return map_kernel(abs_grad_loop);
}

std::unique_ptr<Kernel> make_pow(const OpCall& call) {
  const auto exponent = static_cast<float>(call.attributes.number("exponent"));
  if (exponent == 2.0F) return map_kernel(square_loop);
  return function_kernel([exponent](Inputs in, Outputs out) {
    const auto x = in[0].data<float>();
    std::ranges::transform(x, mutable_floats(out[0]), [exponent](float v) { return std::pow(v, exponent); });
  });
}

std::unique_ptr<Kernel> make_clip(const OpCall& call) {
  return function_kernel([limits = Limits(call)](Inputs in, Outputs out) {
    clip_loop(out[0].elements(), floats(in[0]), limits.least, limits.most, mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_clip_grad(const OpCall& call) {
  return function_kernel([limits = Limits(call)](Inputs in, Outputs out) {
    clip_grad_loop(out[0].elements(), floats(in[0]), floats(in[1]), limits.least, limits.most, mutable_floats(out[0]));
  });
}

}  // namespace troupe::cpu
