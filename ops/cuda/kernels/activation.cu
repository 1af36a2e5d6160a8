#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"

namespace troupe::cuda {

std::unique_ptr<Kernel> make_tanh(const OpCall& call) {
  return map_one(call, Tanh{});
}
std::unique_ptr<Kernel> make_tanh_grad(const OpCall& call) {
  return map_two(call, TanhGrad{});
}
std::unique_ptr<Kernel> make_sigmoid(const OpCall& call) {
  return map_one(call, Sigmoid{});
}
std::unique_ptr<Kernel> make_sigmoid_grad(const OpCall& call) {
  return map_two(call, SigmoidGrad{});
}
std::unique_ptr<Kernel> make_gelu(const OpCall& call) {
  return map_one(call, Gelu{});
}
std::unique_ptr<Kernel> make_gelu_grad(const OpCall& call) {
  return map_two(call, GeluGrad{});
}
std::unique_ptr<Kernel> make_gelu_tanh(const OpCall& call) {
  return map_one(call, GeluTanh{});
}
std::unique_ptr<Kernel> make_gelu_tanh_grad(const OpCall& call) {
  return map_two(call, GeluTanhGrad{});
}
std::unique_ptr<Kernel> make_silu(const OpCall& call) {
  return map_one(call, Silu{});
}
std::unique_ptr<Kernel> make_silu_grad(const OpCall& call) {
  return map_two(call, SiluGrad{});
}
std::unique_ptr<Kernel> make_softplus(const OpCall& call) {
  return map_one(call, Softplus{});
}

}  // namespace troupe::cuda
