#include "troupe/ops/cuda/device/check.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::cuda {

namespace {

/// The type of the driver's function cuDevicePrimaryCtxGetState.
using ContextState = int (*)(int device, unsigned* flags, int* active);

ContextState find_context_state() noexcept {
  try {
    return reinterpret_cast<ContextState>(
        SharedLibrary("the driver", {"libcuda.so.1"}).function("cuDevicePrimaryCtxGetState"));
  } catch (const Error&) {
    return nullptr;
  }
}

ContextState context_state() noexcept {
  static const auto kContextState = find_context_state();
  return kContextState;
}

/// Whether this process has a CUDA context on a device, and so uses memory of the device. Also true if the driver
/// cannot be asked or reports an error.
bool is_in_use(int device) noexcept {
  unsigned flags = 0;
  int active = 1;
  const auto state = context_state();
  return state == nullptr || state(device, &flags, &active) != 0 || active != 0;
}

}  // namespace

std::string text_of(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  // Reads the error to clear it. CUDA keeps an error that is not sticky until it is read, and a later check would
  // report it again.
  (void)cudaGetLastError();
  throw Error("cuda", std::string(what) + ": " + text_of(status));
}

int current_device() {
  int device = -1;
  check(cudaGetDevice(&device), "asking for the current device");
  return device;
}

CurrentDevice::CurrentDevice(int index) noexcept {
  if (cudaGetDevice(&before_) != cudaSuccess || before_ == index) return;
  changed_ = cudaSetDevice(index) == cudaSuccess;
}

CurrentDevice::~CurrentDevice() {
  // The previous device may be device 0, which is current in every new thread, even if the process does not use device
  // 0. cudaSetDevice() would then create a context on it, which takes some hundred MiB of its memory.
  if (changed_ && is_in_use(before_)) (void)cudaSetDevice(before_);
}

}  // namespace troupe::cuda
