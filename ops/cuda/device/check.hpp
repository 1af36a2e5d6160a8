#pragma once

#include <cuda_runtime.h>

#include <string>
#include <string_view>

namespace troupe::cuda {

/// Throws Error("cuda", "WHAT: ...") with CUDA's error text unless `status` is success. `what` names the attempted
/// action.
void check(cudaError_t status, std::string_view what);

/// The calling thread's current device. Throws Error if CUDA reports an error.
int current_device();

/// Formats an error, for example as `invalid argument (cudaErrorInvalidValue)`.
std::string text_of(cudaError_t status);

/// While an object of this class lives, the thread that constructed it may call functions, such as cudaMalloc(), that
/// CUDA forbids to a thread that captures a stream. These calls do not become part of the capture.
class OutsideCapture {
 public:
  OutsideCapture() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // after construction: the thread's previous mode
};

/// Makes a device current for the calling thread while the object lives. The destructor makes the previous device
/// current again if this process has a CUDA context on the previous device. Never throws: if CUDA refuses the device,
/// the previous one stays current.
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
