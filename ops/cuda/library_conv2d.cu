#include "troupe/ops/cuda/library_conv2d.hpp"

#include <algorithm>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/bias_gradient.cuh"
#include "troupe/ops/cuda/convolution_library.hpp"
#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/matrix_transpose.cuh"

namespace troupe::cuda {

namespace {

using Kind = ConvolutionTask::Kind;

/// Adds a bias to y, and relu.
struct FinishPixels {
  float* y;
  const float* bias;  // or null
  std::int64_t filters;
  bool relu;
  __device__ void operator()(std::int64_t i) const {
    const float sum = bias == nullptr ? y[i] : y[i] + bias[i % filters];
    y[i] = relu && sum < 0.0F ? 0.0F : sum;
  }
};

/// A convolution of a library, with scratch memory for the weights as the library wants them.
class LibraryCall {
 public:
  LibraryCall(const ConvolutionTask& task, std::unique_ptr<LibraryConvolution> convolution)
      : task_(task), convolution_(std::move(convolution)) {}

  std::size_t scratch_bytes() const { return weights_bytes() + convolution_->workspace_bytes(); }

  void forward(const Launch& where, Inputs in, Outputs out) const {
    const auto* bias = task_.bias ? floats(in[2]) : nullptr;
    auto* y = mutable_floats(out[0]);
    convolution_->run(where.stream, {floats(in[0]), arranged(where, in[1]), fused() ? bias : nullptr, y},
                      workspace(where));
    if (!fused()) for_each(where, out[0].elements(), FinishPixels{y, bias, task_.shape.filters, task_.relu});
  }
  void grad_data(const Launch& where, Inputs in, Outputs out) const {
    convolution_->run(where.stream, {floats(out[0]), arranged(where, in[1]), nullptr, floats(in[0])}, workspace(where));
  }
  void grad_weights(const Launch& where, Inputs in, Outputs out) const {
    auto* weights = reinterpret_cast<float*>(where.scratch);
    convolution_->run(where.stream, {floats(in[0]), weights, nullptr, floats(in[1])}, workspace(where));
    transpose_matrix(where, task_.shape.filters, task_.shape.window(), weights, mutable_floats(out[0]));
  }

 private:
  bool fused() const { return convolution_->has_epilogue() || !(task_.bias || task_.relu); }
  std::size_t weights_bytes() const {
    return MemoryPool::rounded(static_cast<std::size_t>(task_.shape.window() * task_.shape.filters) * sizeof(float));
  }
  std::byte* workspace(const Launch& where) const { return where.scratch + weights_bytes(); }
  const float* arranged(const Launch& where, const Tensor& weights) const {
    auto* to = reinterpret_cast<float*>(where.scratch);
    transpose_matrix(where, task_.shape.window(), task_.shape.filters, floats(weights), to);
    return to;
  }

  ConvolutionTask task_;
  std::unique_ptr<LibraryConvolution> convolution_;
};

/// Null if the library has no way.
std::shared_ptr<const LibraryCall> find(Kind kind, const Convolution& shape, bool bias = false, bool relu = false) {
  ConvolutionTask task{kind, shape};
  task.tf32 = matmul_precision() == MatmulPrecision::tf32;
  task.bias = bias;
  task.relu = relu;
  auto convolution = find_library_convolution(task);
  return convolution == nullptr ? nullptr : std::make_shared<const LibraryCall>(task, std::move(convolution));
}

}  // namespace

std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape) {
  const auto found = find(Kind::forward, shape, call.inputs.size() == 3, call.attributes.flag("relu"));
  if (found == nullptr) return nullptr;
  return cuda_kernel(
      call, [found](const Launch& where, Inputs in, Outputs out) { found->forward(where, in, out); },
      found->scratch_bytes());
}

std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape) {
  const auto found = find(Kind::grad_data, shape);
  if (found == nullptr) return nullptr;
  return cuda_kernel(
      call, [found](const Launch& where, Inputs in, Outputs out) { found->grad_data(where, in, out); },
      found->scratch_bytes());
}

std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape) {
  const auto found = find(Kind::grad_weights, shape);
  if (found == nullptr) return nullptr;
  const BiasGradient bias(shape, call.attributes.flag("bias"));
  return cuda_kernel(
      call,
      [found, bias](const Launch& where, Inputs in, Outputs out) {
        found->grad_weights(where, in, out);
        bias.run(where, in, out);
      },
      std::max(found->scratch_bytes(), bias.scratch_bytes()));
}

}  // namespace troupe::cuda
