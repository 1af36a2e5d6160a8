#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/broadcast.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"

namespace troupe::cuda {

namespace {

/// Copies the element of x that is broadcast to element i of y.
template <class T>
struct BroadcastElement {
  Walk<1> walk;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const { y[i] = x[walk.find(i)]; }
};

/// A kernel of arithmetic on two inputs that are broadcast to the output.
template <class F>
std::unique_ptr<Kernel> arithmetic(const OpCall& call, F f) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return broadcast_two<T, T>(call, f);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_add(const OpCall& call) {
  return arithmetic(call, Add{});
}
std::unique_ptr<Kernel> make_sub(const OpCall& call) {
  return arithmetic(call, Subtract{});
}
std::unique_ptr<Kernel> make_mul(const OpCall& call) {
  return arithmetic(call, Multiply{});
}
std::unique_ptr<Kernel> make_div(const OpCall& call) {
  return arithmetic(call, Divide{});
}

// Only the shape of the second input is used, so its dtype may be any.
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [walk = broadcast_walk<1>(call)](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(), BroadcastElement<T>{walk, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

std::unique_ptr<Kernel> make_scale(const OpCall& call) {
  return map_one(call, Scale{static_cast<float>(call.attributes.number("factor"))});
}
std::unique_ptr<Kernel> make_relu(const OpCall& call) {
  return map_one(call, Relu{});
}
std::unique_ptr<Kernel> make_relu_grad(const OpCall& call) {
  return map_two(call, ReluGrad{});
}

}  // namespace troupe::cuda
