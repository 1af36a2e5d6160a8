#include "troupe/ops/cuda/device/check.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::cuda {

namespace {

/// The type of the driver's cuDevicePrimaryCtxGetState.
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

/// Whether this process has used a device. True if the driver does not tell.
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
  // A non-sticky error is kept until it is read, and would be reported by the next call.
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
  // Every thread begins with device 0. Making it current would take some hundred MiB of its memory in a process that
  // never uses it.
  if (changed_ && is_in_use(before_)) (void)cudaSetDevice(before_);
}

}  // namespace troupe::cuda
