#include <algorithm>

#include "troupe/ops/cpu/bfloat16_vectors.hpp"
#include "troupe/ops/cpu/block_sums.hpp"
#include "troupe/ops/cpu/in_float32.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/map.hpp"
#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

// Computes out[i] = f(a[i * a_step], b[i * b_step]) for one run. Each step must be 0 or 1; every combination has its
// own loop, because compilers turn loops with constant steps into vector code. Both steps are 0 if broadcast_to repeats
// one element.
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

TROUPE_SIMD_CLONES void copy_run(std::int64_t n, const float* x, std::int64_t step, float* out) {
  run_of([](float a, float) { return a; }, n, x, step, x, step, out);
}
TROUPE_SIMD_CLONES void scale_all(std::int64_t n, const float* x, float factor, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}
TROUPE_SIMD_CLONES void relu_grad_row(std::int64_t n, const float* dy, const float* y, float* dx, float* sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
    sums[i] += dx[i];
  }
}

TROUPE_SIMD_CLONES void add_all(std::int64_t n, const BFloat16* a, const BFloat16* b, BFloat16* y) {
  std::int64_t i = 0;
  for (; i + kEvenOdd <= n; i += kEvenOdd) {
    EvenOdd sum, more;
    load(a + i, sum);
    load(b + i, more);
    sum.even += more.even;
    sum.odd += more.odd;
    store(sum, y + i);
  }
  for (; i < n; ++i) y[i] = BFloat16(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}

using Run = void (*)(std::int64_t, const float*, std::int64_t, const float*, std::int64_t, float*);

std::unique_ptr<Kernel> make_broadcast(const OpCall& call, Run run) {
  return function_kernel([walk = Walk(call), run](Inputs in, Outputs out) {
    const auto* a = floats(in[0]);
    const auto* b = floats(in[1]);
    auto* y = mutable_floats(out[0]);
    walk.for_each_run([&](std::int64_t at, const Walk::Numbers& from) {
      run(walk.run_length(), a + from[0], walk.steps()[0], b + from[1], walk.steps()[1], y + at);
    });
  });
}

}  // namespace

// Defines the function `factory`, which makes a kernel of `operation` on two inputs with numpy's broadcasting.
#define TROUPE_BROADCAST_KERNEL(factory, operation)                                                             \
  TROUPE_SIMD_CLONES static void factory##_run(std::int64_t n, const float* a, std::int64_t sa, const float* b, \
                                               std::int64_t sb, float* out) {                                   \
    run_of([](float x, float y) { return x operation y; }, n, a, sa, b, sb, out);                               \
  }                                                                                                             \
  std::unique_ptr<Kernel> factory(const OpCall& call) {                                                         \
    return make_broadcast(call, factory##_run);                                                                 \
  }

TROUPE_BROADCAST_KERNEL(make_float_add, +)
TROUPE_BROADCAST_KERNEL(make_sub, -)
TROUPE_BROADCAST_KERNEL(make_mul, *)
TROUPE_BROADCAST_KERNEL(make_div, /)

std::unique_ptr<Kernel> make_add(const OpCall& call) {
  const auto &a = call.inputs[0], &b = call.inputs[1];
  if (a.dtype == DType::bfloat16 && b == a)
    return function_kernel([](Inputs in, Outputs out) {
      add_all(out[0].elements(), elements<BFloat16>(in[0]), elements<BFloat16>(in[1]), elements<BFloat16>(out[0]));
    });
  return has_16_bits(call) ? in_float32(call, make_float_add) : make_float_add(call);
}

// Input 1 gives only the shape of the result, so it may have any dtype.
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call) {
  return function_kernel([walk = Walk(call)](Inputs in, Outputs out) {
    walk.for_each_run([&](std::int64_t at, const Walk::Numbers& from) {
      copy_run(walk.run_length(), floats(in[0]) + from[0], walk.steps()[0], mutable_floats(out[0]) + at);
    });
  });
}

std::unique_ptr<Kernel> make_scale(const OpCall& call) {
  return function_kernel([factor = float_attribute(call, "factor")](Inputs in, Outputs out) {
    scale_all(in[0].elements(), floats(in[0]), factor, mutable_floats(out[0]));
  });
}

TROUPE_UNARY_KERNEL(make_relu, [](float x) { return x < 0.0F ? 0.0F : x; })
TROUPE_BINARY_KERNEL(make_relu_grad, [](float dy, float y) { return y > 0.0F ? dy : 0.0F; })

void relu(std::int64_t n, const float* x, float* y) {
  make_relu_loop(n, x, y);
}
TROUPE_SIMD_CLONES void relu(std::int64_t n, const BFloat16* x, BFloat16* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(x[i]);
    y[i] = BFloat16(value < 0.0F ? 0.0F : value);
  }
}

// The kernel sums the gradient row by row, in the order of reduce_sum, so the sum has the bits of a separate
// reduce_sum.
std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call) {
  const auto columns = call.outputs[1].shape[0];
  const auto rows = call.inputs[0].shape.elements() / columns;
  return function_kernel([columns, rows, sums = BlockSums(columns, rows)](Inputs in, Outputs out) mutable {
    sums.begin(mutable_floats(out[1]));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = row * columns;
      relu_grad_row(columns, floats(in[0]) + at, floats(in[1]) + at, mutable_floats(out[0]) + at, sums.next_row());
    }
    sums.finish();
  });
}

}  // namespace troupe::cpu
