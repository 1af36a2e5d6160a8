#pragma once

#include <cstring>
#include <functional>
#include <utility>

#include "cuda_runtime.h"

namespace emulated_cuda {

/// The two phases of every function of CUB: without storage it tells how much it wants; with it, it queues the work,
/// which spoils the storage, so that what is too small or used elsewhere shows.
template <typename Work>
cudaError_t with_storage(void* storage, size_t& storage_bytes, size_t wanted, cudaStream_t stream, Work work) {
  if (storage == nullptr) {
    storage_bytes = wanted;
    return cudaSuccess;
  }
  if (storage_bytes < wanted) return cudaErrorInvalidValue;
  return launch_work(stream, [storage, wanted, work = std::move(work)] {
    std::memset(storage, 0xA5, wanted);
    work();
    std::memset(storage, 0x5A, wanted);
  });
}

}  // namespace emulated_cuda
