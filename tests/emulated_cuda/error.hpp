#pragma once

#include "cuda_runtime_api.h"

namespace emulated_cuda {

/// Makes the error the calling thread's last error, unless it is cudaSuccess, and returns it. Every function of the
/// runtime ends with it.
cudaError_t returned(cudaError_t error);

/// The error that keeps a function from doing anything, such as a fault of the current device. Every function of the
/// runtime begins with it.
cudaError_t obstacle();

/// While it exists, the calling thread runs a host function, which must not call the runtime.
class InHostFunction {
 public:
  InHostFunction();
  ~InHostFunction();
};

}  // namespace emulated_cuda
