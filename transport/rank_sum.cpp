#include "troupe/transport/rank_sum.hpp"

#include <algorithm>
#include <array>

#include "troupe/ops/core/half.hpp"
#include "troupe/ops/core/simd_clones.hpp"

namespace troupe {

namespace {

constexpr std::int64_t kChunk = 1024;

template <class T>
[[gnu::always_inline]] inline void copy_or_add_typed(std::int64_t n, const T* from, T* sum, bool add) {
  if (add)
    for (std::int64_t i = 0; i < n; ++i) sum[i] += from[i];
  else
    for (std::int64_t i = 0; i < n; ++i) sum[i] = from[i];
}

TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const float* from, float* sum, bool add) {
  copy_or_add_typed(n, from, sum, add);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const std::int32_t* from, std::int32_t* sum, bool add) {
  copy_or_add_typed(n, from, sum, add);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const std::int64_t* from, std::int64_t* sum, bool add) {
  copy_or_add_typed(n, from, sum, add);
}

TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const Float16* from, Float16* sum, bool add) {
  copy_or_add_typed(n, from, sum, add);
}
TROUPE_SIMD_CLONES void accumulate(std::int64_t n, const BFloat16* from, BFloat16* sum, bool add) {
  copy_or_add_typed(n, from, sum, add);
}

// Sums kChunk elements at a time in a buffer. Writes the sums to `output` after it has read these elements of all
// inputs, because `output` may be the memory of an input.
template <class T>
void sum_typed(std::span<const Tensor> inputs, std::int64_t first, std::int64_t count, T* output) {
  // The buffer begins at a cache line, so that no vector crosses one: the sum takes a quarter longer otherwise.
  alignas(64) std::array<T, kChunk> sum;
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const auto n = std::min(kChunk, count - done);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank)
      accumulate(n, inputs[rank].data<T>().data() + first + done, sum.data(), rank > 0);
    std::copy_n(sum.begin(), n, output + done);
  }
}

/// Calls `function` with a zero of the C++ type of elements of `dtype`. Throws Error if `dtype` cannot be summed.
template <class Function>
void with_summable_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::int32:
      return function(std::int32_t{});
    case DType::int64:
      return function(std::int64_t{});
    case DType::float16:
      return function(Float16{});
    case DType::bfloat16:
      return function(BFloat16{});
    default:
      throw Error("all_reduce", "there is no sum of " + std::string(name_of(dtype)));
  }
}

}  // namespace

void rank_sum(std::span<const Tensor> inputs, std::int64_t first, std::int64_t count, std::byte* output) {
  with_summable_type(inputs[0].dtype(), [&](auto element) {
    sum_typed(inputs, first, count, reinterpret_cast<decltype(element)*>(output));
  });
}

void copy_or_add(DType dtype, std::int64_t count, const std::byte* from, std::byte* sum, bool add) {
  with_summable_type(dtype, [&](auto element) {
    using T = decltype(element);
    accumulate(count, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(sum), add);
  });
}

}  // namespace troupe
