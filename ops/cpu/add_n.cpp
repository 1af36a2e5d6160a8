#include <algorithm>
#include <array>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

constexpr std::int64_t kChunk = 1024;

#define TROUPE_ACCUMULATION(T)                                                \
  TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const T* from, T* sum) { \
    for (std::int64_t i = 0; i < n; ++i) sum[i] += from[i];                   \
  }
TROUPE_ACCUMULATION(float)
TROUPE_ACCUMULATION(std::int32_t)
TROUPE_ACCUMULATION(std::int64_t)
TROUPE_ACCUMULATION(std::uint8_t)
TROUPE_ACCUMULATION(Float16)
TROUPE_ACCUMULATION(BFloat16)
#undef TROUPE_ACCUMULATION

// Sums chunk by chunk in a local buffer, because the output may share memory with an input that is yet to be read.
template <class T>
std::unique_ptr<Kernel> sum_kernel() {
  return function_kernel([](Inputs in, Outputs out) {
    // The buffer begins at a cache line, so that no vector crosses one.
    alignas(64) std::array<T, kChunk> sum;
    for (std::int64_t done = 0; done < out[0].elements(); done += kChunk) {
      const auto n = std::min(kChunk, out[0].elements() - done);
      std::copy_n(elements<T>(in[0]) + done, n, sum.data());
      for (const auto& x : in.subspan(1)) accumulate(n, elements<T>(x) + done, sum.data());
      std::copy_n(sum.data(), n, elements<T>(out[0]) + done);
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_add_n(const OpCall& call) {
  return with_any_type(call.inputs[0].dtype,
                       [](auto* type) { return sum_kernel<std::remove_pointer_t<decltype(type)>>(); });
}

}  // namespace troupe::cpu
