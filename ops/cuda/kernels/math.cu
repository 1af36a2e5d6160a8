#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"

namespace troupe::cuda {

namespace {

float number(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

}  // namespace

std::unique_ptr<Kernel> make_exp(const OpCall& call) {
  return map_one(call, Exp{});
}
std::unique_ptr<Kernel> make_log(const OpCall& call) {
  return map_one(call, Log{});
}
std::unique_ptr<Kernel> make_sqrt(const OpCall& call) {
  return map_one(call, Sqrt{});
}
std::unique_ptr<Kernel> make_rsqrt(const OpCall& call) {
  return map_one(call, Rsqrt{});
}
std::unique_ptr<Kernel> make_abs(const OpCall& call) {
  return map_one(call, Abs{});
}
std::unique_ptr<Kernel> make_abs_grad(const OpCall& call) {
  return map_two(call, AbsGrad{});
}

std::unique_ptr<Kernel> make_pow(const OpCall& call) {
  const auto exponent = number(call, "exponent");
  if (exponent == 2.0F) return map_one(call, Square{});
  return map_one(call, Pow{exponent});
}

std::unique_ptr<Kernel> make_clip(const OpCall& call) {
  return map_one(call, Clip{number(call, "least"), number(call, "most")});
}
std::unique_ptr<Kernel> make_clip_grad(const OpCall& call) {
  return map_two(call, ClipGrad{number(call, "least"), number(call, "most")});
}

}  // namespace troupe::cuda
