#include "troupe/bench/gpu/device_memory.hpp"

#include <cuda_runtime_api.h>

#include "troupe/ops/core/error.hpp"

namespace troupe::bench {

std::int64_t device_bytes() {
  std::size_t free = 0, total = 0;
  if (cudaSetDevice(0) != cudaSuccess || cudaMemGetInfo(&free, &total) != cudaSuccess)
    throw Error("memory", "the GPU does not report its free memory");
  return static_cast<std::int64_t>(total - free);
}

}  // namespace troupe::bench
