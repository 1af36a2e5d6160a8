#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

namespace troupe::cuda {

/// Throws Error("cuda", ...) that says what was tried and what CUDA says of it, unless `status` is success.
void check(cudaError_t status, std::string_view what);

/// `invalid argument (cudaErrorInvalidValue)`.
std::string text_of(cudaError_t status);

/// Makes a device the calling thread's current one while it lives; afterwards it is the one that was so before, if this
/// process has used that one. Never throws: a device that does not exist is
/// reported by the calls that follow.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index) noexcept;
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace troupe::cuda
