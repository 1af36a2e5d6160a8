#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// Sorts pairs of a key and a place by key on the device. The scratch memory of the op's kernel holds the pairs before
/// and after the sort.
class PairSort {
 public:
  /// Prepares to sort `count` pairs, which must be fewer than 2^31. Only the lowest `key_bits` bits of a key are
  /// compared.
  PairSort(std::int64_t count, int key_bits);

  std::size_t scratch_bytes() const { return 4 * column_bytes_ + temporary_bytes_; }
  /// The memory of the unsorted pairs, which kernels must write before run(). `scratch` has scratch_bytes() bytes.
  std::uint32_t* keys(std::byte* scratch) const { return column<std::uint32_t>(scratch, 0); }
  std::int32_t* places(std::byte* scratch) const { return column<std::int32_t>(scratch, 1); }
  /// The memory of the sorted pairs, written by run().
  const std::uint32_t* sorted_keys(std::byte* scratch) const { return column<std::uint32_t>(scratch, 2); }
  const std::int32_t* sorted_places(std::byte* scratch) const { return column<std::int32_t>(scratch, 3); }

  /// Launches the sort by ascending key. Pairs with equal keys keep their order.
  void run(const Launch& where, std::byte* scratch) const;

 private:
  template <class T>
  T* column(std::byte* scratch, std::size_t number) const {
    return reinterpret_cast<T*>(scratch + number * column_bytes_);
  }

  std::int64_t count_;
  int key_bits_;
  std::size_t column_bytes_, temporary_bytes_ = 0;
};

}  // namespace troupe::cuda
