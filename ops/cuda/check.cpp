#include "troupe/ops/cuda/check.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

std::string text_of(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  // An error that is not sticky stays until it is asked for: the next call must not be blamed.
  (void)cudaGetLastError();
  throw Error("cuda", std::string(what) + ": " + text_of(status));
}

CurrentDevice::CurrentDevice(int index) noexcept {
  if (cudaGetDevice(&before_) != cudaSuccess || before_ == index) return;
  changed_ = cudaSetDevice(index) == cudaSuccess;
}

CurrentDevice::~CurrentDevice() {
  if (changed_) (void)cudaSetDevice(before_);
}

}  // namespace troupe::cuda
