#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/cuda/device/cuda_stream.hpp"
#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

/// The address of a tensor on the device, as a pointer to elements of type T or to floats, constant or mutable.
template <class T>
const T* data_of(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.address());
}
template <class T>
T* mutable_data_of(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.address());
}
inline const float* floats(const Tensor& tensor) {
  return data_of<float>(tensor);
}
inline float* mutable_floats(const Tensor& tensor) {
  return mutable_data_of<float>(tensor);
}
/// The address of input number `at`; null if the op has fewer inputs.
template <class T = float>
const T* optional_data_of(Inputs inputs, std::size_t at) {
  return inputs.size() > at ? data_of<T>(inputs[at]) : nullptr;
}
/// Returns the device address of the BatchInfo that a tensor holds. Only kernels may read the BatchInfo there.
inline const BatchInfo* batch_info_of(const Tensor& tensor) {
  static_assert(sizeof(BatchInfo) == 4 * sizeof(std::int64_t));
  return data_of<BatchInfo>(tensor);
}

/// Returns attribute `name` of an op call, which must be a number, as a float.
inline float option(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

/// Returns the launch parameters for the kernels of an op, makes the stream's GPU the current device, and notes the
/// op's name for error texts. Throws Error if the stream is not on a GPU, if a tensor is not on that GPU, or if the
/// stream has failed.
inline Launch launch_on(const KernelContext& context, const char* op, Inputs inputs, Outputs outputs) {
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

/// A kernel whose run() makes the launch parameters by launch_on() and passes them, the inputs and the outputs to
/// `function`, which must launch the op on the device.
template <class Function>
class CudaKernel final : public Kernel {
 public:
  CudaKernel(const char* op, Function function, std::size_t scratch_bytes)
      : op_(op), function_(std::move(function)), scratch_bytes_(scratch_bytes) {}

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    function_(launch_on(context, op_, inputs, outputs), inputs, outputs);
  }

 private:
  const char* op_;
  Function function_;
  std::size_t scratch_bytes_;
};

template <class Function>
std::unique_ptr<Kernel> cuda_kernel(const OpCall& call, Function function, std::size_t scratch_bytes = 0) {
  // The names of ops are literals, which are zero-terminated and live until the process ends.
  return std::make_unique<CudaKernel<Function>>(call.op->name.data(), std::move(function), scratch_bytes);
}

/// Makes a kernel of an object that has run(const Launch&, Inputs, Outputs) and scratch_bytes().
template <class Object>
std::unique_ptr<Kernel> object_kernel(const OpCall& call, Object object) {
  const std::size_t bytes = object.scratch_bytes();
  return cuda_kernel(
      call, [object = std::move(object)](const Launch& where, Inputs in, Outputs out) { object.run(where, in, out); },
      bytes);
}

}  // namespace troupe::cuda
