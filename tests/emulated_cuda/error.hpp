#pragma once

#include "cuda_runtime_api.h"

namespace emulated_cuda {

/// Makes it the calling thread's last error, unless it is cudaSuccess, and returns it. What every function ends with.
cudaError_t returned(cudaError_t error);

/// What every function begins with: the error for which it can do nothing, such as a fault of the current device.
cudaError_t obstacle();

/// While it exists, the calling thread runs a host function, in which the runtime must not be called.
class InHostFunction {
 public:
  InHostFunction();
  ~InHostFunction();
};

}  // namespace emulated_cuda
