#include "troupe/ops/cuda/cudnn/cudnn_library.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

const CudnnLibrary& cudnn_library() {
  static const auto& library = *new CudnnLibrary;
  return library;
}

void check_cudnn(cudnnStatus_t status, std::string_view what) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw Error("cudnn", std::string(what) + ": " + cudnn_library().status_text(status));
}

CudnnHandle& cudnn_handle() {
  static auto& mutex = *new std::mutex;
  static auto& handles = *new std::map<int, CudnnHandle>;
  const int device = current_device();
  std::lock_guard lock(mutex);
  auto& handle = handles[device];
  if (handle.handle == nullptr) check_cudnn(cudnn_library().create(&handle.handle), "making a handle");
  return handle;
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  check_cudnn(cudnn_library().descriptor_create(type, &descriptor), "making a descriptor");
  descriptor_.reset(descriptor);
}

void CudnnDescriptor::set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                              const void* values) {
  check_cudnn(cudnn_library().descriptor_set(get(), name, type, count, values),
              "setting attribute " + std::to_string(static_cast<int>(name)));
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnn_library().descriptor_finalize(get()), "finalizing a descriptor");
}

std::int64_t CudnnDescriptor::count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  std::int64_t count = 0;
  check_cudnn(cudnn_library().descriptor_get(get(), name, type, 0, &count, nullptr),
              "asking for attribute " + std::to_string(static_cast<int>(name)));
  return count;
}

std::size_t CudnnDescriptor::get_some(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                      std::size_t limit, void* values) const {
  std::int64_t count = 0;
  check_cudnn(cudnn_library().descriptor_get(get(), name, type, static_cast<std::int64_t>(limit), &count, values),
              "asking for attribute " + std::to_string(static_cast<int>(name)));
  return std::min(limit, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
}

std::int64_t CudnnDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::vector<std::int64_t> value(1, 0);
  get_all(name, CUDNN_TYPE_INT64, value);
  return value.empty() ? 0 : value[0];
}

}  // namespace troupe::cuda
