#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

namespace troupe::cuda {

/// Throws Error("cuda", ...) that says what was tried and what CUDA says of it, unless `status` is success.
void check(cudaError_t status, std::string_view what);

/// `invalid argument (cudaErrorInvalidValue)`.
std::string text_of(cudaError_t status);

/// While it lives the calling thread may call what CUDA refuses to threads that capture a stream, and what it calls has
/// no part in that capture.
class OutsideCapture {
 public:
  OutsideCapture() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then: that of the thread before
};

/// Makes a device the calling thread's current one while it lives, then the one from before again if this process has
/// used that. Never throws: the calls that follow report a device that does not exist.
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
