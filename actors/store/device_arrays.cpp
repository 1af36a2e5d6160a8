#include "troupe/actors/store/device_arrays.hpp"

namespace troupe {

std::shared_ptr<const Tensor> DeviceArrays::copy_of(const Tensor& array, Device device) {
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

}  // namespace troupe
