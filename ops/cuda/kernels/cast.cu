#include <limits>
#include <type_traits>
#include <utility>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Converts a float to an integer of type T by dropping the fraction. A float beyond the range of T becomes the nearest
/// limit of T, and a NaN becomes 0. The limits are compared as floats. The upper one may be rounded up, to just beyond
/// the range, so a float that equals it must not be converted.
template <class T>
__device__ T whole_number(float x) {
  constexpr T kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  if (!(x == x)) return 0;
  if (x <= static_cast<float>(kLowest)) return kLowest;
  if (x >= static_cast<float>(kHighest)) return kHighest;
  return static_cast<T>(x);
}

/// Converts an integer to type T. An integer beyond the range of T becomes the nearest limit of T.
template <class T>
__device__ T whole_number(std::int64_t x) {
  constexpr std::int64_t kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  return static_cast<T>(x < kLowest ? kLowest : (x > kHighest ? kHighest : x));
}

/// Converts a number to another type: to an integer by whole_number(), to a 16-bit float by way of float32. cast() in
/// ops/library/cast.hpp documents the results.
template <class To, class From>
__device__ To cast_number(From x) {
  if constexpr (kIsHalf<From>) {
    return cast_number<To>(to_float(x));
  } else if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsHalf<To>) {
    To half;
    from_float(static_cast<float>(x), half);
    return half;
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<From, float>) {
    return whole_number<To>(x);
  } else {
    return whole_number<To>(static_cast<std::int64_t>(x));
  }
}

template <class To, class From>
struct Cast {
  const From* x;
  To* y;
  __device__ void operator()(std::int64_t i) const { y[i] = cast_number<To>(x[i]); }
};

template <class F>
std::unique_ptr<Kernel> with_any_type(DType dtype, F f) {
  return with_type<std::int32_t, std::int64_t, std::uint8_t, HalfBits, BFloatBits, float>(dtype, f);
}

}  // namespace

std::unique_ptr<Kernel> make_cast(const OpCall& call) {
  return with_any_type(call.inputs[0].dtype, [&](auto from) {
    return with_any_type(call.outputs[0].dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
        for_each(where, out[0].elements(), Cast<To, From>{data_of<From>(in[0]), mutable_data_of<To>(out[0])});
      });
    });
  });
}

}  // namespace troupe::cuda
