#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// The factories of a device for the kernels of the single ops that matmul_gelu_tanh and matmul_gelu_tanh_grad replace.
struct GeluKernels {
  KernelFactory matmul, gelu_tanh, gelu_tanh_grad, reduce_sum;
};

/// Kernels of matmul_gelu_tanh and matmul_gelu_tanh_grad for devices without a fused kernel. They run the kernels of
/// the single ops one after the other, so the results have the bits of the single ops.
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh(const OpCall& call, const GeluKernels& kernels);
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh_grad(const OpCall& call, const GeluKernels& kernels);

}  // namespace troupe
