#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/broadcast.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/relu.hpp"

namespace troupe::cpu {

namespace {

// Computes one run by one of three patterns: both operands advance, or one of them. In a run of one element neither
// operand advances.
template <class F>
[[gnu::always_inline]] inline void run_of(F f, std::int64_t n, const float* a, std::int64_t a_step, const float* b,
                                          std::int64_t b_step, float* out) {
  if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], *b);
  } else if (b_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(*a, b[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(*a, *b);
  }
}

TROUPE_SIMD_CLONES void add_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, std::int64_t sb,
                                float* out) {
  run_of([](float x, float y) { return x + y; }, n, a, sa, b, sb, out);
}
TROUPE_SIMD_CLONES void sub_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, std::int64_t sb,
                                float* out) {
  run_of([](float x, float y) { return x - y; }, n, a, sa, b, sb, out);
}
TROUPE_SIMD_CLONES void mul_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, std::int64_t sb,
                                float* out) {
  run_of([](float x, float y) { return x * y; }, n, a, sa, b, sb, out);
}
TROUPE_SIMD_CLONES void div_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, std::int64_t sb,
                                float* out) {
  run_of([](float x, float y) { return x / y; }, n, a, sa, b, sb, out);
}
TROUPE_SIMD_CLONES void copy_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, std::int64_t sb,
                                 float* out) {
  run_of([](float x, float) { return x; }, n, a, sa, b, sb, out);
}
TROUPE_SIMD_CLONES void scale_all(std::int64_t n, const float* x, float factor, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}
TROUPE_SIMD_CLONES void relu_grad_all(std::int64_t n, const float* dy, const float* y, float* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

using Run = void (*)(std::int64_t, const float*, std::int64_t, const float*, std::int64_t, float*);

std::unique_ptr<Kernel> make_broadcast(const OpCall& call, Run run) {
  const Broadcast walk(call);
  return function_kernel([walk, run](Inputs in, Outputs out) {
    const auto* a = floats(in[0]);
    const auto* b = floats(in[1]);
    auto* y = mutable_floats(out[0]);
    walk.for_each_run([&](std::int64_t at, const Broadcast::Numbers& from) {
      run(walk.run_length(), a + from[0], walk.steps()[0], b + from[1], walk.steps()[1], y + at);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_add(const OpCall& call) {
  return make_broadcast(call, add_run);
}
std::unique_ptr<Kernel> make_sub(const OpCall& call) {
  return make_broadcast(call, sub_run);
}
std::unique_ptr<Kernel> make_mul(const OpCall& call) {
  return make_broadcast(call, mul_run);
}
std::unique_ptr<Kernel> make_div(const OpCall& call) {
  return make_broadcast(call, div_run);
}
// Only the shape of the second input is used, so its dtype may be any.
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call) {
  if (is_16_bit(call.inputs[0].dtype)) throw Error("broadcast_to", "has no kernel of 16-bit floats for cpu");
  return function_kernel([walk = Broadcast(call)](Inputs in, Outputs out) {
    walk.for_each_run([&](std::int64_t at, const Broadcast::Numbers& from) {
      const auto* x = floats(in[0]) + from[0];
      copy_run(walk.run_length(), x, walk.steps()[0], x, walk.steps()[0], mutable_floats(out[0]) + at);
    });
  });
}

std::unique_ptr<Kernel> make_scale(const OpCall& call) {
  return function_kernel([factor = static_cast<float>(call.attributes.number("factor"))](Inputs in, Outputs out) {
    scale_all(in[0].elements(), floats(in[0]), factor, mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_relu(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) { relu(in[0].elements(), floats(in[0]), mutable_floats(out[0])); });
}

std::unique_ptr<Kernel> make_relu_grad(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) {
    relu_grad_all(in[0].elements(), floats(in[0]), floats(in[1]), mutable_floats(out[0]));
  });
}

}  // namespace troupe::cpu
