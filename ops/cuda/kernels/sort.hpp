#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// Memory on the device for sorting pairs of a key and a place, and the pairs themselves.
class PairSort {
 public:
  /// Of `count` pairs, fewer than 2^31, whose keys have so many bits.
  PairSort(std::int64_t count, int key_bits);

  std::size_t scratch_bytes() const { return 4 * column_bytes_ + temporary_bytes_; }
  /// Where the pairs to be sorted are to be put, in scratch memory of scratch_bytes() bytes.
  std::uint32_t* keys(std::byte* scratch) const { return column<std::uint32_t>(scratch, 0); }
  std::int32_t* places(std::byte* scratch) const { return column<std::int32_t>(scratch, 1); }
  /// Where they are afterwards.
  const std::uint32_t* sorted_keys(std::byte* scratch) const { return column<std::uint32_t>(scratch, 2); }
  const std::int32_t* sorted_places(std::byte* scratch) const { return column<std::int32_t>(scratch, 3); }

  /// Launches the sort, by rising key; pairs of one key stay in their order.
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
