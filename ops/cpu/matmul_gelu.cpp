#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/fused/matmul_then_gelu.hpp"

namespace troupe::cpu {

namespace {

GeluKernels kernels() {
  return {make_matmul, make_gelu_tanh, make_gelu_tanh_grad, make_reduce_sum};
}

}  // namespace

std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call) {
  return make_matmul_then_gelu_tanh(call, kernels());
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh_grad(const OpCall& call) {
  return make_matmul_then_gelu_tanh_grad(call, kernels());
}

}  // namespace troupe::cpu
