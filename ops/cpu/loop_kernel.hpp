#pragma once

#include <memory>
#include <utility>

#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

using Inputs = std::span<const Tensor>;
using Outputs = std::span<const Tensor>;

/// A kernel without scratch memory that is one function of inputs and outputs.
template <class Function>
class LoopKernel final : public Kernel {
 public:
  explicit LoopKernel(Function function) : function_(std::move(function)) {}
  void run(const KernelContext&, Inputs inputs, Outputs outputs) override { function_(inputs, outputs); }

 private:
  Function function_;
};

template <class Function>
std::unique_ptr<Kernel> loop_kernel(Function function) {
  return std::make_unique<LoopKernel<Function>>(std::move(function));
}

inline const float* floats(const Tensor& tensor) {
  return reinterpret_cast<const float*>(tensor.address());
}
inline float* mutable_floats(const Tensor& tensor) {
  return reinterpret_cast<float*>(tensor.address());
}

}  // namespace troupe::cpu
