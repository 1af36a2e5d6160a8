#include <cstdio>
#include <utility>

#include "cuda_runtime.h"
#include "troupe/tests/emulated_cuda/block_runner.hpp"
#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"
#include "troupe/tests/emulated_cuda/variation.hpp"

namespace emulated_cuda {

namespace {

struct Grid {
  dim3 blocks;
  dim3 threads;
};

bool is_within_limits(const Grid& grid) {
  const dim3 b = grid.blocks, t = grid.threads;
  if (b.x == 0 || b.y == 0 || b.z == 0 || t.x == 0 || t.y == 0 || t.z == 0) return false;
  return b.x <= 0x7fffffff && b.y <= 65535 && b.z <= 65535 && t.x <= 1024 && t.y <= 1024 && t.z <= 64 &&
         std::uint64_t{t.x} * t.y * t.z <= 1024;
}

void report(const Grid& grid, const std::string& problem) {
  std::fprintf(stderr, "emulated CUDA: in block (%u, %u, %u) of (%u, %u, %u), with (%u, %u, %u) threads: %s\n",
               blockIdx.x, blockIdx.y, blockIdx.z, grid.blocks.x, grid.blocks.y, grid.blocks.z, grid.threads.x,
               grid.threads.y, grid.threads.z, problem.c_str());
}

// Starts at any block and visits the blocks up or down.
void run_grid(Device& device, const Grid& grid, const std::function<void()>& thread) {
  if (device.fault() != cudaSuccess) return;
  blockDim = grid.threads;
  gridDim = grid.blocks;
  const unsigned threads = grid.threads.x * grid.threads.y * grid.threads.z;
  const std::uint64_t blocks = std::uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  const std::uint64_t variation = next_variation();
  const std::uint64_t first = (variation >> 16) % blocks;
  BlockRunner& runner = BlockRunner::current();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t step = variation & 8 ? blocks - i : i;
    const std::uint64_t index = (first + step) % blocks;
    blockIdx.x = static_cast<unsigned>(index % grid.blocks.x);
    blockIdx.y = static_cast<unsigned>(index / grid.blocks.x % grid.blocks.y);
    blockIdx.z = static_cast<unsigned>(index / grid.blocks.x / grid.blocks.y);
    if (runner.run(thread, threads, mix(variation + index))) continue;
    report(grid, runner.take_problem());
    device.set_fault(cudaErrorLaunchFailure);
    return;
  }
}

}  // namespace

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const Grid grid{config.gridDim, config.blockDim};
  if (!is_within_limits(grid)) return returned(cudaErrorInvalidConfiguration);
  if (config.dynamicSmemBytes != 0) return returned(cudaErrorNotSupported);
  return launch_work(config.stream, [&device = current_device(), grid, thread = std::move(thread)] {
    run_grid(device, grid, thread);
  });
}

cudaError_t launch_work(cudaStream_t handle, std::function<void()> work) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto stream = stream_of(handle);
  if (&stream->device() != &current_device()) return returned(cudaErrorInvalidResourceHandle);
  return returned(stream->submit({.run = std::move(work)}));
}

}  // namespace emulated_cuda
