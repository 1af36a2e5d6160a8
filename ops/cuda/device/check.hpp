#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

namespace troupe::cuda {

/// Throws Error("cuda", "WHAT: ...") with CUDA's error text unless `status` is success. `what` names the attempted
/// action.
void check(cudaError_t status, std::string_view what);

/// The calling thread's current device. Throws Error if CUDA cannot tell.
int current_device();

/// The error as `invalid argument (cudaErrorInvalidValue)`.
std::string text_of(cudaError_t status);

/// While it lives, the calling thread may call functions that CUDA forbids to threads that capture a stream. The calls
/// have no part in that capture.
class OutsideCapture {
 public:
  OutsideCapture() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // after construction: the mode of the thread before
};

/// Makes a device the calling thread's current one while it lives. The destructor makes the previous device current
/// again if this process has used it. Never throws: if the device does not exist, the calls that follow report it.
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
