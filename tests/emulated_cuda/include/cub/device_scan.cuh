#pragma once

#include <iterator>

#include "temporary_storage.cuh"

namespace cub {

/// The output may be the input.
struct DeviceScan {
  template <typename In, typename Out, typename Count>
  static cudaError_t InclusiveSum(void* storage, size_t& storage_bytes, In in, Out out, Count count,
                                  cudaStream_t stream = 0) {
    return scan<true>(storage, storage_bytes, in, out, count, stream);
  }

  template <typename In, typename Out, typename Count>
  static cudaError_t ExclusiveSum(void* storage, size_t& storage_bytes, In in, Out out, Count count,
                                  cudaStream_t stream = 0) {
    return scan<false>(storage, storage_bytes, in, out, count, stream);
  }

 private:
  template <bool kInclusive, typename In, typename Out, typename Count>
  static cudaError_t scan(void* storage, size_t& storage_bytes, In in, Out out, Count count, cudaStream_t stream) {
    using Value = typename std::iterator_traits<In>::value_type;
    const size_t required = static_cast<size_t>(count) / 128 * sizeof(Value) + 511;
    return emulated_cuda::with_storage(storage, storage_bytes, required, stream, [=] {
      Value sum{};
      for (Count i = 0; i < count; ++i) {
        const Value before = sum;
        sum = sum + in[i];
        out[i] = kInclusive ? sum : before;
      }
    });
  }
};

}  // namespace cub
