#pragma once

#include <span>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"

namespace troupe::cuda {

/// Some tensors as an argument of a kernel.
struct TensorList {
  static constexpr std::size_t kMost = 64;

  const float* data[kMost];
  std::int64_t elements[kMost];
};

/// Calls launch_list(list, number of tensors in it, number of the first) for all tensors, at most kMost at a time.
template <class LaunchList>
void for_each_list(Inputs tensors, LaunchList launch_list) {
  for (std::size_t first = 0; first < tensors.size(); first += TensorList::kMost) {
    TensorList list{};
    const auto count = std::min(TensorList::kMost, tensors.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      list.data[i] = floats(tensors[first + i]);
      list.elements[i] = tensors[first + i].elements();
    }
    launch_list(list, static_cast<unsigned>(count), static_cast<unsigned>(first));
  }
}

/// Blocks for each of some tensors, so that the largest has enough of them.
inline unsigned blocks_for_each(std::span<const TensorInfo> infos) {
  constexpr unsigned kMost = 128;
  std::int64_t largest = 0;
  for (const auto& info : infos) largest = std::max(largest, info.shape.elements());
  return std::min(kMost, blocks_for(largest, 4 * kBlock));
}

}  // namespace troupe::cuda
