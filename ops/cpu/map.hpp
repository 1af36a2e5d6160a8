#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Computes y[i] = f(x[i]). y may be x. Call it from a function marked TROUPE_SIMD_CLONES.
template <class F>
[[gnu::always_inline]] inline void map(std::int64_t n, const float* x, float* y, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

/// Computes y[i] = f(a[i], b[i]).
template <class F>
[[gnu::always_inline]] inline void map(std::int64_t n, const float* a, const float* b, float* y, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

using UnaryLoop = void (*)(std::int64_t n, const float* x, float* y);
using BinaryLoop = void (*)(std::int64_t n, const float* a, const float* b, float* y);

/// A kernel that runs one loop over all elements.
inline std::unique_ptr<Kernel> map_kernel(UnaryLoop loop) {
  return function_kernel(
      [loop](Inputs in, Outputs out) { loop(out[0].elements(), floats(in[0]), mutable_floats(out[0])); });
}
inline std::unique_ptr<Kernel> map_kernel(BinaryLoop loop) {
  return function_kernel([loop](Inputs in, Outputs out) {
    loop(out[0].elements(), floats(in[0]), floats(in[1]), mutable_floats(out[0]));
  });
}

/// Define the function `factory`, which makes a kernel that maps one or two inputs by a function of numbers, the last
/// argument. Macros, because clang compiles no clones of templates.
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

/// Computes y = max(x, 0) for n elements. y may be x. A NaN stays NaN, while oneDNN's relu would hide it as 0.
void relu(std::int64_t n, const float* x, float* y);

}  // namespace troupe::cpu
