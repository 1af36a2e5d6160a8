#pragma once

#include <cstring>
#include <functional>
#include <utility>

#include "cuda_runtime.h"

namespace emulated_cuda {

/// The two phases of every function of CUB. Without storage, returns the required size. With storage, queues the work,
/// and overwrites the storage before and after it, so that storage that is too small or used elsewhere is detected.
template <typename Work>
cudaError_t with_storage(void* storage, size_t& storage_bytes, size_t required, cudaStream_t stream, Work work) {
  if (storage == nullptr) {
    storage_bytes = required;
    return cudaSuccess;
  }
  if (storage_bytes < required) return cudaErrorInvalidValue;
  return launch_work(stream, [storage, required, work = std::move(work)] {
    std::memset(storage, 0xA5, required);
    work();
    std::memset(storage, 0x5A, required);
  });
}

}  // namespace emulated_cuda
