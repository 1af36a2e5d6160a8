#include <algorithm>
#include <array>

#include "troupe/ops/core/half.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

constexpr std::int64_t kChunk = 1024;

template <class T>
[[gnu::always_inline]] inline void accumulate_typed(std::int64_t n, const T* from, T* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += from[i];
}

TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const float* from, float* sum) {
  accumulate_typed(n, from, sum);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const std::int32_t* from, std::int32_t* sum) {
  accumulate_typed(n, from, sum);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const std::int64_t* from, std::int64_t* sum) {
  accumulate_typed(n, from, sum);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const Float16* from, Float16* sum) {
  accumulate_typed(n, from, sum);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const BFloat16* from, BFloat16* sum) {
  accumulate_typed(n, from, sum);
}

// Sums chunk by chunk in a buffer of its own, because the output may share memory with an input that is yet to be read.
template <class T>
std::unique_ptr<Kernel> sum_kernel() {
  return function_kernel([](Inputs in, Outputs out) {
    std::array<T, kChunk> sum;
    for (std::int64_t done = 0; done < out[0].elements(); done += kChunk) {
      const auto n = std::min(kChunk, out[0].elements() - done);
      std::copy_n(reinterpret_cast<const T*>(in[0].address()) + done, n, sum.data());
      for (const auto& x : in.subspan(1)) accumulate(n, reinterpret_cast<const T*>(x.address()) + done, sum.data());
      std::copy_n(sum.data(), n, reinterpret_cast<T*>(out[0].address()) + done);
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_add_n(const OpCall& call) {
  switch (call.inputs[0].dtype) {
    case DType::int32:
      return sum_kernel<std::int32_t>();
    case DType::int64:
      return sum_kernel<std::int64_t>();
    case DType::float16:
      return sum_kernel<Float16>();
    case DType::bfloat16:
      return sum_kernel<BFloat16>();
    default:
      return sum_kernel<float>();
  }
}

}  // namespace troupe::cpu
