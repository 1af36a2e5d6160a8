#pragma once

#include <algorithm>
#include <cstdint>

#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/ops/cuda/device/report_invalid.cuh"

namespace troupe::cuda {

/// Where the kernels of one op are launched.
struct Launch {
  cudaStream_t stream;
  /// Of at least the bytes that the kernel asked for, 256-byte aligned; it holds nothing between ops.
  std::byte* scratch;
  InvalidReport invalid;
};

/// Threads of a block, where nothing else is said.
inline constexpr int kBlock = 256;
inline constexpr int kWarp = 32;

/// Launches a kernel. Throws Error if the launch is refused.
template <class... Parameters, class... Arguments>
void launch(const Launch& where, dim3 grid, dim3 block, void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = where.stream;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), where.invalid.op);
}

/// Blocks that together have a thread for each of n elements, at most as many as fill a large GPU a few times.
inline unsigned blocks_for(std::int64_t n, int threads = kBlock) {
  constexpr std::int64_t kMost = 132 * 16;
  return static_cast<unsigned>(std::clamp<std::int64_t>((n + threads - 1) / threads, 1, kMost));
}

/// The first element of a thread, and how far it is to its next one.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

template <class Function>
__global__ void __launch_bounds__(kBlock) for_each_kernel(std::int64_t n, Function function) {
  for (auto i = first_element(); i < n; i += element_stride()) function(i);
}

/// Calls function(i) on the device for every i below n, in any order. n may be 0.
template <class Function>
void for_each(const Launch& where, std::int64_t n, const Function& function) {
  if (n > 0) launch(where, blocks_for(n), kBlock, for_each_kernel<Function>, n, function);
}

}  // namespace troupe::cuda
