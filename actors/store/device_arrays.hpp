#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Copies of arrays on devices with memory of their own: one on each device for all who ask, for as long as somebody
/// holds it. Nobody may write to an array of which there are copies. Thread-safe.
class DeviceArrays {
 public:
  /// Blocks while it is copied. Throws Error if the device is out of memory.
  std::shared_ptr<const Tensor> copy_of(const Tensor& array, Device device);

 private:
  struct Copy {
    Tensor array;  // so that no other array comes to lie there
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
