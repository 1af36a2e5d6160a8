#include "troupe/ops/cuda/kernels/sort.hpp"

#include <cub/cub.cuh>

namespace troupe::cuda {

PairSort::PairSort(std::int64_t count, int key_bits)
    : count_(count), key_bits_(key_bits), column_bytes_(scratch_bytes_of<std::uint32_t>(count)) {
  const std::uint32_t* keys = nullptr;
  const std::int32_t* places = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes_, keys, const_cast<std::uint32_t*>(keys), places,
                                        const_cast<std::int32_t*>(places), static_cast<int>(count_), 0, key_bits_),
        "asking what sorting needs");
}

void PairSort::run(const Launch& where, std::byte* scratch) const {
  auto temporary_bytes = temporary_bytes_;
  check(cub::DeviceRadixSort::SortPairs(
            scratch + 4 * column_bytes_, temporary_bytes, static_cast<const std::uint32_t*>(keys(scratch)),
            column<std::uint32_t>(scratch, 2), static_cast<const std::int32_t*>(places(scratch)),
            column<std::int32_t>(scratch, 3), static_cast<int>(count_), 0, key_bits_, where.stream),
        where.invalid.op);
}

}  // namespace troupe::cuda
