#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/cuda/device/cuda_stream.hpp"
#include "troupe/ops/cuda/device/launch.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

/// The address of a tensor on the device, as a typed pointer.
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

/// The launch parameters of an op. Throws Error if the stream is not on a GPU, or if a tensor is not on that GPU.
Launch launch_on(const KernelContext& context, const char* op, Inputs inputs, Outputs outputs);

/// A kernel that consists of one function of (const Launch&, Inputs, Outputs).
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

}  // namespace troupe::cuda
