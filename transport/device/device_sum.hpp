#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::device {

/// Sums of tensors on one device. Kernels are prepared once for each size. Used by one thread at a time.
class DeviceSum {
 public:
  explicit DeviceSum(Device device) : device_(device) {}

  /// Launches output = ((inputs[0] + inputs[1]) + ...) on a stream of the device. All tensors lie there and have one
  /// shape; the output may be one of the inputs.
  void launch(Stream& stream, std::span<const Tensor> inputs, const Tensor& output);

 private:
  using Size = std::tuple<DType, std::int64_t, std::size_t>;  // elements, number of inputs
  /// Of sizes that change all the time not all are kept.
  static constexpr std::size_t kMostKernels = 256;

  Kernel& kernel(const Size& size);

  Device device_;
  std::map<Size, std::unique_ptr<Kernel>> kernels_;
  Tensor scratch_;
};

}  // namespace troupe::device
