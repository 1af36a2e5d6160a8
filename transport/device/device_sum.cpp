#include "troupe/transport/device/device_sum.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::device {

Kernel& DeviceSum::kernel(const Size& size) {
  if (kernels_.size() >= kMostKernels && !kernels_.contains(size)) kernels_.clear();
  auto& kernel = kernels_[size];
  if (kernel) return *kernel;
  const auto& [dtype, elements, inputs] = size;
  const TensorInfo info{Shape{elements}, dtype};
  kernel = make_kernel({&kAddN, {}, std::vector<TensorInfo>(inputs, info), {info}}, device_);
  const auto bytes = static_cast<std::int64_t>(kernel->scratch_bytes());
  if (bytes > 0 && (!scratch_ || scratch_.elements() < bytes)) scratch_ = Tensor(Shape{bytes}, DType::uint8, device_);
  return *kernel;
}

void DeviceSum::launch(Stream& stream, std::span<const Tensor> inputs, const Tensor& output) {
  if (output.elements() == 0) return;
  if (inputs.size() == 1) {
    if (inputs[0].address() != output.address()) stream.copy(output.address(), inputs[0].address(), output.bytes());
    return;
  }
  auto& sum = kernel({output.dtype(), output.elements(), inputs.size()});
  sum.run({stream, scratch_ ? scratch_.address() : nullptr}, inputs, std::span(&output, 1));
}

}  // namespace troupe::device
