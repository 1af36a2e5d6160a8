#include "troupe/ops/cuda/device/functions.cuh"
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

/// Makes a kernel of f on the elements of two inputs, which are broadcast to the output.
template <class F>
std::unique_ptr<Kernel> arithmetic(const OpCall& call, F f) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return broadcast_two<T, T>(call, f);
  });
}

}  // namespace

// Defines `factory`, the function that makes the kernel of an op. `kernel` is an expression that makes the kernel from
// `call`.
#define TROUPE_KERNEL(factory, kernel)                  \
  std::unique_ptr<Kernel> factory(const OpCall& call) { \
    return kernel;                                      \
  }
TROUPE_KERNEL(make_add, arithmetic(call, Add{}))
TROUPE_KERNEL(make_sub, arithmetic(call, Subtract{}))
TROUPE_KERNEL(make_mul, arithmetic(call, Multiply{}))
TROUPE_KERNEL(make_div, arithmetic(call, Divide{}))
TROUPE_KERNEL(make_scale, map_one(call, Scale{option(call, "factor")}))
TROUPE_KERNEL(make_relu, map_one(call, Relu{}))
TROUPE_KERNEL(make_relu_grad, map_two(call, ReluGrad{}))
TROUPE_KERNEL(make_exp, map_one(call, Exp{}))
TROUPE_KERNEL(make_log, map_one(call, Log{}))
TROUPE_KERNEL(make_sqrt, map_one(call, Sqrt{}))
TROUPE_KERNEL(make_rsqrt, map_one(call, Rsqrt{}))
TROUPE_KERNEL(make_abs, map_one(call, Abs{}))
TROUPE_KERNEL(make_abs_grad, map_two(call, AbsGrad{}))
TROUPE_KERNEL(make_clip, map_one(call, Clip{option(call, "least"), option(call, "most")}))
TROUPE_KERNEL(make_clip_grad, map_two(call, ClipGrad{option(call, "least"), option(call, "most")}))
TROUPE_KERNEL(make_tanh, map_one(call, Tanh{}))
TROUPE_KERNEL(make_tanh_grad, map_two(call, TanhGrad{}))
TROUPE_KERNEL(make_sigmoid, map_one(call, Sigmoid{}))
TROUPE_KERNEL(make_sigmoid_grad, map_two(call, SigmoidGrad{}))
TROUPE_KERNEL(make_gelu, map_one(call, Gelu{}))
TROUPE_KERNEL(make_gelu_grad, map_two(call, GeluGrad{}))
TROUPE_KERNEL(make_gelu_tanh, map_one(call, GeluTanh{}))
TROUPE_KERNEL(make_gelu_tanh_grad, map_two(call, GeluTanhGrad{}))
TROUPE_KERNEL(make_silu, map_one(call, Silu{}))
TROUPE_KERNEL(make_silu_grad, map_two(call, SiluGrad{}))
TROUPE_KERNEL(make_softplus, map_one(call, Softplus{}))
TROUPE_KERNEL(make_at_least, map_one(call, AtLeast{option(call, "threshold")}))
TROUPE_KERNEL(make_at_most, map_one(call, AtMost{option(call, "threshold")}))

#undef TROUPE_KERNEL

std::unique_ptr<Kernel> make_pow(const OpCall& call) {
  const auto exponent = option(call, "exponent");
  if (exponent == 2.0F) return map_one(call, Square{});
  return map_one(call, Pow{exponent});
}

// The kernel does not read the second input, whose shape is that of the output, so the second input may have any dtype.
std::unique_ptr<Kernel> make_broadcast_to(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [walk = broadcast_walk<1>(call)](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(), BroadcastElement<T>{walk, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace troupe::cuda
