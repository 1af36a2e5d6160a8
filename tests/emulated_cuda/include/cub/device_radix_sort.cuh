#pragma once

#include "radix_key.cuh"
#include "temporary_storage.cuh"

namespace cub {

/// Inputs and outputs must not overlap.
struct DeviceRadixSort {
  template <typename Key, typename Value, typename Count>
  static cudaError_t SortPairs(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, Count count, int begin_bit = 0,
                               int end_bit = sizeof(Key) * 8, cudaStream_t stream = 0) {
    return sort<Key, Value>(storage, storage_bytes, {keys_in, keys_out, values_in, values_out},
                            static_cast<size_t>(count), {false, begin_bit, end_bit}, stream);
  }

  template <typename Key, typename Value, typename Count>
  static cudaError_t SortPairsDescending(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                                         const Value* values_in, Value* values_out, Count count, int begin_bit = 0,
                                         int end_bit = sizeof(Key) * 8, cudaStream_t stream = 0) {
    return sort<Key, Value>(storage, storage_bytes, {keys_in, keys_out, values_in, values_out},
                            static_cast<size_t>(count), {true, begin_bit, end_bit}, stream);
  }

 private:
  template <typename Key, typename Value>
  static cudaError_t sort(void* storage, size_t& storage_bytes, emulated_cuda::SortArrays<Key, Value> arrays,
                          size_t count, emulated_cuda::SortRule rule, cudaStream_t stream) {
    const size_t required = count * (sizeof(Key) + sizeof(Value)) + 1023;
    return emulated_cuda::with_storage(storage, storage_bytes, required, stream,
                                       [=] { emulated_cuda::stable_sort(arrays, 0, count, rule); });
  }
};

}  // namespace cub
