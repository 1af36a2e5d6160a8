#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Copies of arrays on devices with separate memory: one for each device, shared by all users, while any of them holds
/// it. An array with copies must not be written to. Thread-safe.
class DeviceArrays {
 public:
  /// Waits for the end of the copy. Throws Error if the device is out of memory.
  std::shared_ptr<const Tensor> copy_of(const Tensor& array, Device device) {
    const std::lock_guard lock(mutex_);
    std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = copies_[{array.address(), array.bytes(), device}];
    auto copy = entry.lock();
    if (copy == nullptr) {
      copy = std::make_shared<const Copy>(Copy{array, array.to(device)});
      entry = copy;
    }
    // Another user may have the same elements in another shape.
    const auto view = std::make_shared<const View>(View{copy, copy->on_device.view(array.shape(), array.dtype(), 0)});
    return {view, &view->tensor};
  }

 private:
  struct Copy {
    Tensor array;  // keeps the address from being reused
    Tensor on_device;
  };
  struct View {
    std::shared_ptr<const Copy> copy;
    Tensor tensor;
  };
  using Key = std::tuple<const std::byte*, std::size_t, Device>;

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Copy>> copies_;
};

}  // namespace troupe
