#include "troupe/ops/cuda/device/cuda_kernel.hpp"

namespace troupe::cuda {

Launch launch_on(const KernelContext& context, const char* op, Inputs inputs, Outputs outputs) {
  const auto device = context.stream.device();
  if (device.type != DeviceType::cuda) throw Error(op, "runs on GPUs, not on a stream of " + to_string(device));
  for (const auto tensors : {inputs, outputs})
    for (const auto& tensor : tensors)
      if (tensor.device() != device)
        throw Error(op, to_string(tensor) + " was given to a kernel on " + to_string(device));
  auto& stream = static_cast<CudaStream&>(context.stream);
  stream.note_launch(op);
  return {stream.handle(), context.scratch, {stream.invalid_values(), op}};
}

}  // namespace troupe::cuda
