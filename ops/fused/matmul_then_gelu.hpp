#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// The factories of a device for the kernels of four ops. The op matmul_gelu_tanh fuses a matmul and a gelu_tanh;
/// matmul_gelu_tanh_grad fuses a matmul, a gelu_tanh_grad and the reduce_sum of its result.
struct GeluKernels {
  KernelFactory matmul, gelu_tanh, gelu_tanh_grad, reduce_sum;
};

/// Kernels of matmul_gelu_tanh and matmul_gelu_tanh_grad for devices without a fused kernel. They run the kernels of
/// the ops in GeluKernels one after the other, so the results have the bits of these ops.
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh(const OpCall& call, const GeluKernels& kernels);
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh_grad(const OpCall& call, const GeluKernels& kernels);

}  // namespace troupe
