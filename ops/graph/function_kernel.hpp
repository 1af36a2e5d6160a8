#pragma once

#include <memory>
#include <utility>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// A kernel that runs function(inputs, outputs) and needs neither scratch memory nor a stream. The function may keep
/// state between calls.
template <class Function>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Function function) : function_(std::move(function)) {}
  void run(const KernelContext&, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    function_(inputs, outputs);
  }

 private:
  Function function_;
};

/// Makes a FunctionKernel of `function`.
template <class Function>
std::unique_ptr<Kernel> function_kernel(Function function) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function));
}

}  // namespace troupe
