#include "troupe/tests/emulated_cuda/error.hpp"

#include "troupe/tests/emulated_cuda/device.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool in_host_function = false;

/// An error code with the texts of cudaGetErrorName and cudaGetErrorString.
struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
#define EMULATED_CUDA_TEXT(name, number, text) {name, #name, text},
    EMULATED_CUDA_ERRORS(EMULATED_CUDA_TEXT)
#undef EMULATED_CUDA_TEXT
};

const ErrorText* find(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

cudaError_t fault_of_current_device() {
  return device_count() == 0 ? cudaSuccess : current_device().fault();
}

}  // namespace

cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t obstacle() {
  if (is_process_ending()) return cudaErrorCudartUnloading;
  if (in_host_function) return cudaErrorNotPermitted;
  if (device_count() == 0) return cudaErrorNoDevice;
  return current_device().fault();
}

InHostFunction::InHostFunction() {
  in_host_function = true;
}

InHostFunction::~InHostFunction() {
  in_host_function = false;
}

}  // namespace emulated_cuda

cudaError_t cudaPeekAtLastError() {
  const cudaError_t fault = emulated_cuda::fault_of_current_device();
  return fault != cudaSuccess ? fault : emulated_cuda::last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  emulated_cuda::last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const auto* entry = emulated_cuda::find(error);
  return entry ? entry->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* entry = emulated_cuda::find(error);
  return entry ? entry->text : "unrecognized error code";
}
