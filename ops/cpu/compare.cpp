#include <cmath>
#include <limits>

#include "troupe/ops/cpu/bfloat16_vectors.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

template <class Compare>
std::unique_ptr<Kernel> make_comparison(const OpCall& call, Compare compare) {
  return with_element_type(call.inputs[0].dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return function_kernel([walk = Walk(call), compare](Inputs in, Outputs out) {
      const auto steps = walk.steps();
      const auto a_step = steps[0], b_step = steps[1];
      walk.for_each_run([&](std::int64_t at, const Walk::Numbers& from) {
        const auto* a = elements<T>(in[0]) + from[0];
        const auto* b = elements<T>(in[1]) + from[1];
        auto* y = elements<std::uint8_t>(out[0]) + at;
        for (std::int64_t i = 0; i < walk.run_length(); ++i) y[i] = compare(a[i * a_step], b[i * b_step]) ? 1 : 0;
      });
    });
  });
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// Converts a number to another type, by the rules of cast in ops/library/cast.hpp. A conversion from or to a 16-bit
/// float goes through float32. A conversion to an integer drops the fraction; a NaN becomes 0, and a number beyond the
/// range becomes the nearest limit.
template <class To, class From>
To cast_number(From x) {
  if constexpr (kIsHalf<From>) return cast_number<To>(static_cast<float>(x));
  if constexpr (kIsHalf<To> && !kIsHalf<From>) return To(static_cast<float>(x));
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(x == x)) return 0;
    // The limits of To are converted to From. The upper limit may be rounded up to a number just beyond the range of
    // To, so an x equal to the converted limit gives the limit of To, too.
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (std::cmp_less(x, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(x, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  if constexpr (!kIsHalf<From> && !kIsHalf<To>) return static_cast<To>(x);
}

#define TROUPE_CONVERSION(From, To)                                       \
  TROUPE_SIMD_CLONES void convert(std::int64_t n, const From* x, To* y) { \
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);    \
  }
TROUPE_CONVERSION(float, Float16)
TROUPE_CONVERSION(Float16, float)
TROUPE_CONVERSION(BFloat16, float)
#undef TROUPE_CONVERSION
TROUPE_SIMD_CLONES void convert(std::int64_t n, const float* x, BFloat16* y) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const Vector16 numbers = vector_at(x + i);
    store(numbers, y + i);
  }
  for (; i < n; ++i) y[i] = BFloat16(x[i]);
}

template <class To, class From>
void cast_all(std::int64_t n, const From* x, To* y) {
  if constexpr (requires { convert(n, x, y); })
    convert(n, x, y);
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = cast_number<To>(x[i]);
}

}  // namespace

std::unique_ptr<Kernel> make_equal(const OpCall& call) {
  return make_comparison(call, [](auto a, auto b) { return a == b; });
}
std::unique_ptr<Kernel> make_not_equal(const OpCall& call) {
  return make_comparison(call, [](auto a, auto b) { return a != b; });
}
std::unique_ptr<Kernel> make_less(const OpCall& call) {
  return make_comparison(call, [](auto a, auto b) { return a < b; });
}
std::unique_ptr<Kernel> make_less_equal(const OpCall& call) {
  return make_comparison(call, [](auto a, auto b) { return a <= b; });
}

std::unique_ptr<Kernel> make_where(const OpCall& call) {
  return function_kernel([walk = Walk(call)](Inputs in, Outputs out) {
    const auto steps = walk.steps();
    const auto condition_step = steps[0], a_step = steps[1], b_step = steps[2];
    walk.for_each_run([&](std::int64_t at, const Walk::Numbers& from) {
      const auto* condition = elements<std::uint8_t>(in[0]) + from[0];
      const auto* a = floats(in[1]) + from[1];
      const auto* b = floats(in[2]) + from[2];
      auto* y = mutable_floats(out[0]) + at;
      for (std::int64_t i = 0; i < walk.run_length(); ++i)
        y[i] = condition[i * condition_step] != 0 ? a[i * a_step] : b[i * b_step];
    });
  });
}

std::unique_ptr<Kernel> make_cast(const OpCall& call) {
  return with_any_type(call.inputs[0].dtype, [&](auto* from_type) {
    return with_any_type(call.outputs[0].dtype, [&](auto* to_type) {
      using From = std::remove_pointer_t<decltype(from_type)>;
      using To = std::remove_pointer_t<decltype(to_type)>;
      return function_kernel(
          [](Inputs in, Outputs out) { cast_all(out[0].elements(), elements<From>(in[0]), elements<To>(out[0])); });
    });
  });
}

}  // namespace troupe::cpu
