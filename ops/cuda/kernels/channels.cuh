#pragma once

#include <numeric>

#include "troupe/ops/cuda/device/launch.cuh"

namespace troupe::cuda {

/// Calls the function for the elements of a thread. The number of threads is a multiple of `channels`, so that all
/// elements of a thread are of one channel.
template <class Function>
__global__ void __launch_bounds__(kBlock) channels_kernel(std::int64_t n, std::int64_t channels, Function function) {
  auto i = first_element();
  if (i >= n) return;
  const auto of_channel = function.channel(i % channels);
  for (; i < n; i += element_stride()) function.element(of_channel, i);
}

/// Calls function.element(function.channel(c), i) on the device for every i below n, in any order, where c is the
/// channel of element i of an array [..., channels].
template <class Function>
void for_each_by_channel(const Launch& where, std::int64_t n, std::int64_t channels, const Function& function) {
  const auto unit = channels / std::gcd(channels, std::int64_t{kBlock});
  const auto blocks = (blocks_for(n) + unit - 1) / unit * unit;
  launch(where, static_cast<unsigned>(blocks), kBlock, channels_kernel<Function>, n, channels, function);
}

}  // namespace troupe::cuda
