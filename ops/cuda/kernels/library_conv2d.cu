#include "troupe/ops/cuda/kernels/library_conv2d.hpp"

#include <algorithm>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/cudnn/convolution_library.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/kernels/bias_gradient.cuh"
#include "troupe/ops/cuda/kernels/matrix_transpose.cuh"

namespace troupe::cuda {

namespace {

using Kind = ConvolutionTask::Kind;

/// Adds a bias to y, and applies the relu.
template <class T>
struct FinishPixels {
  T* y;
  const T* bias;  // or null
  std::int64_t filters;
  bool relu;
  __device__ void operator()(std::int64_t i) const {
    const float sum = bias == nullptr ? load(y, i) : load(y, i) + load(bias, i % filters);
    store(y, i, relu && sum < 0.0F ? 0.0F : sum);
  }
};

/// A convolution of a library on elements of type T, with scratch memory for the weights in the library's layout.
template <class T>
class LibraryCall {
 public:
  LibraryCall(const ConvolutionTask& task, std::unique_ptr<LibraryConvolution> convolution)
      : task_(task), convolution_(std::move(convolution)) {}

  std::size_t scratch_bytes() const { return weights_bytes() + convolution_->workspace_bytes(); }

  void forward(const Launch& where, Inputs in, Outputs out) const {
    const auto* bias = task_.bias ? data_of<T>(in[2]) : nullptr;
    auto* y = mutable_data_of<T>(out[0]);
    convolution_->run(where.stream, {in[0].address(), arranged(where, in[1]), fused() ? bias : nullptr, y},
                      workspace(where));
    if (!fused()) for_each(where, out[0].elements(), FinishPixels<T>{y, bias, task_.shape.filters, task_.relu});
  }
  void grad_data(const Launch& where, Inputs in, Outputs out) const {
    convolution_->run(where.stream, {out[0].address(), arranged(where, in[1]), nullptr, in[0].address()},
                      workspace(where));
  }
  void grad_weights(const Launch& where, Inputs in, Outputs out) const {
    convolution_->run(where.stream, {in[0].address(), where.scratch, nullptr, in[1].address()}, workspace(where));
    if (task_.gradient == DType::float32)
      arrange_back(where, reinterpret_cast<const float*>(where.scratch), mutable_floats(out[0]));
    else
      arrange_back(where, reinterpret_cast<const T*>(where.scratch), mutable_floats(out[0]));
  }

 private:
  bool fused() const { return convolution_->has_epilogue() || !(task_.bias || task_.relu); }
  std::size_t weights_bytes() const {
    return MemoryPool::rounded(static_cast<std::size_t>(task_.shape.window() * task_.shape.filters) * sizeof(float));
  }
  std::byte* workspace(const Launch& where) const { return where.scratch + weights_bytes(); }
  const T* arranged(const Launch& where, const Tensor& weights) const {
    auto* to = reinterpret_cast<T*>(where.scratch);
    transpose_matrix(where, task_.shape.window(), task_.shape.filters, data_of<T>(weights), to);
    return to;
  }
  template <class Gradient>
  void arrange_back(const Launch& where, const Gradient* gradient, float* to) const {
    transpose_matrix(where, task_.shape.filters, task_.shape.window(), gradient, to);
  }

  ConvolutionTask task_;
  std::unique_ptr<LibraryConvolution> convolution_;
};

/// Null if there is no convolution.
template <class T>
std::shared_ptr<const LibraryCall<T>> call_of(const ConvolutionTask& task,
                                              std::unique_ptr<LibraryConvolution> convolution) {
  return convolution == nullptr ? nullptr : std::make_shared<const LibraryCall<T>>(task, std::move(convolution));
}
template <class T>
std::shared_ptr<const LibraryCall<T>> find(const ConvolutionTask& task) {
  return call_of<T>(task, find_library_convolution(task));
}

ConvolutionTask task_of(Kind kind, const OpCall& call, const Convolution& shape) {
  ConvolutionTask task{kind, shape};
  task.dtype = call.inputs[0].dtype;
  task.tf32 = may_use_tf32();
  return task;
}

template <class T>
std::unique_ptr<Kernel> grad_weights_kernel(const OpCall& call, const Convolution& shape) {
  auto task = task_of(Kind::grad_weights, call, shape);
  // Libraries have few and slow algorithms that sum 16-bit numbers and write float32, so a gradient that is rounded to
  // 16 bits is measured, too.
  auto rounded = task;
  rounded.gradient = task.dtype;
  const auto library_call =
      is_16_bit(task.dtype) ? call_of<T>(task, faster_library_convolution(task, rounded)) : find<T>(task);
  if (library_call == nullptr) return nullptr;
  const BiasGradient bias(shape, call.attributes.flag("bias"));
  return cuda_kernel(
      call,
      [library_call, bias](const Launch& where, Inputs in, Outputs out) {
        library_call->grad_weights(where, in, out);
        bias.run<T>(where, in, out);
      },
      std::max(library_call->scratch_bytes(), bias.scratch_bytes()));
}

}  // namespace

std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape) {
  auto task = task_of(Kind::forward, call, shape);
  task.bias = call.inputs.size() == 3;
  task.relu = call.attributes.flag("relu");
  return with_float_type(task.dtype, [&](auto element) -> std::unique_ptr<Kernel> {
    const auto library_call = find<decltype(element)>(task);
    if (library_call == nullptr) return nullptr;
    return cuda_kernel(
        call, [library_call](const Launch& where, Inputs in, Outputs out) { library_call->forward(where, in, out); },
        library_call->scratch_bytes());
  });
}

std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape) {
  const auto task = task_of(Kind::grad_data, call, shape);
  return with_float_type(task.dtype, [&](auto element) -> std::unique_ptr<Kernel> {
    const auto library_call = find<decltype(element)>(task);
    if (library_call == nullptr) return nullptr;
    return cuda_kernel(
        call, [library_call](const Launch& where, Inputs in, Outputs out) { library_call->grad_data(where, in, out); },
        library_call->scratch_bytes());
  });
}

std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape) {
  return with_float_type(call.inputs[0].dtype,
                         [&](auto element) { return grad_weights_kernel<decltype(element)>(call, shape); });
}

}  // namespace troupe::cuda
