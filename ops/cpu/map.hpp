#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Computes y[i] = f(x[i]) for n elements. y may be x. Call it from a function marked TROUPE_SIMD_CLONES.
template <class F>
[[gnu::always_inline]] inline void map(std::int64_t n, const float* x, float* y, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

/// Computes y[i] = f(a[i], b[i]) for n elements. y may be a or b. Call it from a function marked TROUPE_SIMD_CLONES.
template <class F>
[[gnu::always_inline]] inline void map(std::int64_t n, const float* a, const float* b, float* y, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

using UnaryLoop = void (*)(std::int64_t n, const float* x, float* y);
using BinaryLoop = void (*)(std::int64_t n, const float* a, const float* b, float* y);

/// A kernel that calls `loop` once for all elements of its one or two inputs, which must be float32 and of the shape of
/// output 0.
inline std::unique_ptr<Kernel> map_kernel(UnaryLoop loop) {
  return function_kernel(
      [loop](Inputs in, Outputs out) { loop(out[0].elements(), floats(in[0]), mutable_floats(out[0])); });
}
inline std::unique_ptr<Kernel> map_kernel(BinaryLoop loop) {
  return function_kernel([loop](Inputs in, Outputs out) {
    loop(out[0].elements(), floats(in[0]), floats(in[1]), mutable_floats(out[0]));
  });
}

/// Each macro defines the function `factory`, which makes a kernel that applies a function of one or two floats, the
/// last argument of the macro, to every element. They are macros, because clang cannot compile a template for several
/// vector widths (TROUPE_SIMD_CLONES).
#define TROUPE_UNARY_KERNEL(factory, ...)                                                       \
  TROUPE_SIMD_CLONES static void factory##_loop(std::int64_t n, const float* from, float* to) { \
    map(n, from, to, __VA_ARGS__);                                                              \
  }                                                                                             \
  std::unique_ptr<Kernel> factory(const OpCall&) {                                              \
    return map_kernel(factory##_loop);                                                          \
  }
#define TROUPE_BINARY_KERNEL(factory, ...)                                                                             \
  TROUPE_SIMD_CLONES static void factory##_loop(std::int64_t n, const float* from_a, const float* from_b, float* to) { \
    map(n, from_a, from_b, to, __VA_ARGS__);                                                                           \
  }                                                                                                                    \
  std::unique_ptr<Kernel> factory(const OpCall&) {                                                                     \
    return map_kernel(factory##_loop);                                                                                 \
  }

/// Computes y = max(x, 0) for n elements. y may be x. A NaN stays NaN, while oneDNN's relu would turn it into 0.
void relu(std::int64_t n, const float* x, float* y);
void relu(std::int64_t n, const BFloat16* x, BFloat16* y);

}  // namespace troupe::cpu
