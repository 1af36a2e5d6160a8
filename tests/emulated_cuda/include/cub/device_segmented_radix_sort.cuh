#pragma once

#include "radix_key.cuh"
#include "temporary_storage.cuh"

namespace cub {

/// Sorts the items from begin_offsets[i] to end_offsets[i], for every segment i. Items in no segment are not written.
struct DeviceSegmentedRadixSort {
  template <typename Key, typename Value, typename Begin, typename End>
  static cudaError_t SortPairs(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, int count, int segments, Begin begin_offsets,
                               End end_offsets, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = 0) {
    return sort<Key, Value>(storage, storage_bytes, {keys_in, keys_out, values_in, values_out}, count, segments,
                            begin_offsets, end_offsets, {false, begin_bit, end_bit}, stream);
  }

  template <typename Key, typename Value, typename Begin, typename End>
  static cudaError_t SortPairsDescending(void* storage, size_t& storage_bytes, const Key* keys_in, Key* keys_out,
                                         const Value* values_in, Value* values_out, int count, int segments,
                                         Begin begin_offsets, End end_offsets, int begin_bit = 0,
                                         int end_bit = sizeof(Key) * 8, cudaStream_t stream = 0) {
    return sort<Key, Value>(storage, storage_bytes, {keys_in, keys_out, values_in, values_out}, count, segments,
                            begin_offsets, end_offsets, {true, begin_bit, end_bit}, stream);
  }

 private:
  template <typename Key, typename Value, typename Begin, typename End>
  static cudaError_t sort(void* storage, size_t& storage_bytes, emulated_cuda::SortArrays<Key, Value> arrays, int count,
                          int segments, Begin begin_offsets, End end_offsets, emulated_cuda::SortRule rule,
                          cudaStream_t stream) {
    const size_t required = static_cast<size_t>(count) * (sizeof(Key) + sizeof(Value)) + 767;
    return emulated_cuda::with_storage(storage, storage_bytes, required, stream, [=] {
      for (int i = 0; i < segments; ++i) {
        const size_t begin = static_cast<size_t>(begin_offsets[i]), end = static_cast<size_t>(end_offsets[i]);
        if (begin < end) emulated_cuda::stable_sort(arrays, begin, end, rule);
      }
    });
  }
};

}  // namespace cub
