#include "troupe/actors/run/device_arrays.hpp"

namespace troupe {

std::shared_ptr<const Tensor> DeviceArrays::copy_of(const Tensor& array, Device device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = copies_[{array.address(), array.shape().list(), array.dtype(), device}];
  auto copy = known.lock();
  if (copy == nullptr) {
    copy = std::make_shared<const Copy>(Copy{array, array.to(device)});
    known = copy;
  }
  return {copy, &copy->on_device};
}

}  // namespace troupe
