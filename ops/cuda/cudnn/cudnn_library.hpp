#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <vector>

#include "troupe/ops/cuda/device/shared_library.hpp"

namespace troupe::cuda {

/// The functions of cuDNN's graph interface. cudnn_library() loads the library when it is first called.
struct CudnnLibrary {
  SharedLibrary library{"cuDNN", {"libcudnn.so.9", "libcudnn.so"}};
  TROUPE_CUDA_FUNCTION(create, cudnnCreate);
  TROUPE_CUDA_FUNCTION(set_stream, cudnnSetStream);
  TROUPE_CUDA_FUNCTION(status_text, cudnnGetErrorString);
  TROUPE_CUDA_FUNCTION(descriptor_create, cudnnBackendCreateDescriptor);
  TROUPE_CUDA_FUNCTION(descriptor_destroy, cudnnBackendDestroyDescriptor);
  TROUPE_CUDA_FUNCTION(descriptor_set, cudnnBackendSetAttribute);
  TROUPE_CUDA_FUNCTION(descriptor_get, cudnnBackendGetAttribute);
  TROUPE_CUDA_FUNCTION(descriptor_finalize, cudnnBackendFinalize);
  TROUPE_CUDA_FUNCTION(execute, cudnnBackendExecute);
};

/// The functions of cuDNN. Throws Error with the reason if the library cannot be loaded. Thread-safe.
const CudnnLibrary& cudnn_library();

/// Throws Error("cudnn", ...), with `what`, the name of the attempted action, and cuDNN's error text, unless the status
/// is success.
void check_cudnn(cudnnStatus_t status, std::string_view what);

/// cuDNN's handle of a device. A thread must hold the mutex while it uses the handle.
struct CudnnHandle {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
};
/// The handle of the calling thread's current device; never destroyed. Throws Error if cuDNN cannot make one.
/// Thread-safe.
CudnnHandle& cudnn_handle();

/// A descriptor of cuDNN. The caller sets its attributes, then finalizes it. All functions throw Error if cuDNN
/// refuses.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }
  /// Sets an attribute that has one value.
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set_all(name, type, 1, &value);
  }
  void set_integers(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    set_all(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set_descriptors(cudnnBackendAttributeName_t name, const std::vector<cudnnBackendDescriptor_t>& values) {
    set_all(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set_descriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
               const void* values);
  void finalize();

  /// The number of values of an attribute.
  std::int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  /// Gets at most values.size() values of an attribute, and resizes `values` to their number. If the values are
  /// descriptors, `values` must hold descriptors of the type of the attribute's values, into which cuDNN writes.
  template <class T>
  void get_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::vector<T>& values) const {
    values.resize(get_some(name, type, values.size(), values.data()));
  }
  std::int64_t integer(cudnnBackendAttributeName_t name) const;

 private:
  struct Destroy {
    void operator()(cudnnBackendDescriptor_t descriptor) const { cudnn_library().descriptor_destroy(descriptor); }
  };

  std::size_t get_some(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t limit,
                       void* values) const;

  std::unique_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>, Destroy> descriptor_;
};

}  // namespace troupe::cuda
