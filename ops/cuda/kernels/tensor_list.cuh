#pragma once

#include <span>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"

namespace troupe::cuda {

/// Up to kLimit float32 tensors as an argument of a CUDA kernel.
struct TensorList {
  static constexpr std::size_t kLimit = 64;

  const float* data[kLimit];
  std::int64_t elements[kLimit];
};

/// Calls launch_list(list, number of tensors in the list, index of the first one) for all tensors, at most kLimit at a
/// time.
template <class LaunchList>
void for_each_list(Inputs tensors, LaunchList launch_list) {
  for (std::size_t first = 0; first < tensors.size(); first += TensorList::kLimit) {
    TensorList list{};
    const auto count = std::min(TensorList::kLimit, tensors.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      list.data[i] = floats(tensors[first + i]);
      list.elements[i] = tensors[first + i].elements();
    }
    launch_list(list, static_cast<unsigned>(count), static_cast<unsigned>(first));
  }
}

/// Returns the number of blocks that a launch has for each tensor of a TensorList: the same for all tensors, and chosen
/// for the largest one of `infos`.
inline unsigned blocks_for_each(std::span<const TensorInfo> infos) {
  constexpr unsigned kMaxBlocks = 128;
  std::int64_t largest = 0;
  for (const auto& info : infos) largest = std::max(largest, info.shape.elements());
  return std::min(kMaxBlocks, blocks_for(largest, 4 * kBlock));
}

}  // namespace troupe::cuda
