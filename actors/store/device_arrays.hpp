#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Copies of host arrays in the memory of devices. All users of an array share one copy per device, which is freed when
/// the last user drops its handle. An array must not be written to while a copy of it exists. Thread-safe.
class DeviceArrays {
 public:
  /// Returns the copy of the array on the device, with the array's shape and dtype. If no user holds a copy, makes one
  /// and waits until it is complete. Throws Error if the device is out of memory.
  std::shared_ptr<const Tensor> copy_of(const Tensor& array, Device device) {
    const std::lock_guard lock(mutex_);
    std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = copies_[{array.address(), array.bytes(), device}];
    auto copy = entry.lock();
    if (copy == nullptr) {
      copy = std::make_shared<const Copy>(Copy{array, array.to(device)});
      entry = copy;
    }
    // The copy may have been made for a tensor with another shape or dtype over the same bytes, so each user gets a
    // view.
    const auto view = std::make_shared<const View>(View{copy, copy->on_device.view(array.shape(), array.dtype(), 0)});
    return {view, &view->tensor};
  }

 private:
  struct Copy {
    Tensor array;  // keeps the host memory alive, so that no other array gets its address
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
