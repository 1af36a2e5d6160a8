#pragma once

#include <memory>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// What makes the kernels of a device for the ops of which a product with a gelu is composed.
struct GeluKernels {
  KernelFactory matmul, gelu_tanh, gelu_tanh_grad, reduce_sum;
};

/// Kernels of matmul_gelu_tanh and matmul_gelu_tanh_grad that run one after the other the ops for which these stand:
/// the same bits.
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh(const OpCall& call, const GeluKernels& kernels);
std::unique_ptr<Kernel> make_matmul_then_gelu_tanh_grad(const OpCall& call, const GeluKernels& kernels);

}  // namespace troupe
