#include "troupe/ops/cuda/kernels/library_conv2d.cuh"

#include <algorithm>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

namespace {

using Kind = ConvolutionTask::Kind;

/// Transposes a matrix x [rows, columns] to y [columns, rows]. Each block transposes a tile of 32 rows and 32 columns.
template <class T, class R>
__global__ void __launch_bounds__(kBlock)
    transpose_matrix_kernel(std::int64_t rows, std::int64_t columns, const T* x, R* y) {
  __shared__ T tile[kWarp][kWarp + 1];
  constexpr int kRows = kBlock / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, first = static_cast<int>(threadIdx.x) / kWarp;
  const auto top = static_cast<std::int64_t>(blockIdx.x) * kWarp, left = static_cast<std::int64_t>(blockIdx.y) * kWarp;
  for (int i = first; i < kWarp; i += kRows)
    if (top + i < rows && left + lane < columns) tile[i][lane] = x[(top + i) * columns + left + lane];
  __syncthreads();
  for (int i = first; i < kWarp; i += kRows)
    if (left + i < columns && top + lane < rows) store(y, (left + i) * rows + top + lane, load(tile[lane], i));
}

/// Launches transpose_matrix_kernel. There must be fewer than 2 million columns, because CUDA limits gridDim.y, the
/// number of tiles side by side, to 65,535.
template <class T, class R>
void transpose_matrix(const Launch& where, std::int64_t rows, std::int64_t columns, const T* x, R* y) {
  const dim3 grid(static_cast<unsigned>(divided_up(rows, kWarp)), static_cast<unsigned>(divided_up(columns, kWarp)));
  launch(where, grid, kBlock, transpose_matrix_kernel<T, R>, rows, columns, x, y);
}

/// Adds the bias, unless it is null, to an element of y, and applies the relu if `relu` is true.
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

/// The kernel of conv2d or of one of its gradients by a LibraryConvolution, on elements of type T. Scratch memory
/// begins with the weights, or their gradient, in the layout [filters, window] of the library; the workspace of the
/// library follows.
template <class T>
class LibraryCall {
 public:
  LibraryCall(const OpCall& call, const ConvolutionTask& task, std::unique_ptr<LibraryConvolution> convolution)
      : task_(task),
        convolution_(std::move(convolution)),
        bias_gradient_(task.shape, task.kind == Kind::grad_weights && call.attributes.flag("bias")) {}

  std::size_t scratch_bytes() const {
    return std::max(weights_bytes() + convolution_->workspace_bytes(), bias_gradient_.scratch_bytes());
  }
  void run(const Launch& where, Inputs in, Outputs out) const {
    if (task_.kind == Kind::forward) return forward(where, in, out);
    if (task_.kind == Kind::grad_weights) return grad_weights(where, in, out);
    convolution_->run(where.stream, {out[0].address(), arranged(where, in[1]), nullptr, in[0].address()},
                      workspace(where));
  }

 private:
  void forward(const Launch& where, Inputs in, Outputs out) const {
    const auto* bias = task_.bias ? data_of<T>(in[2]) : nullptr;
    auto* y = mutable_data_of<T>(out[0]);
    const bool fused = convolution_->has_epilogue() || !(task_.bias || task_.relu);
    convolution_->run(where.stream, {in[0].address(), arranged(where, in[1]), fused ? bias : nullptr, y},
                      workspace(where));
    if (!fused) for_each(where, out[0].elements(), FinishPixels<T>{y, bias, task_.shape.filters, task_.relu});
  }
  void grad_weights(const Launch& where, Inputs in, Outputs out) const {
    convolution_->run(where.stream, {in[0].address(), where.scratch, nullptr, in[1].address()}, workspace(where));
    if (task_.gradient == DType::float32)
      arrange_back(where, reinterpret_cast<const float*>(where.scratch), mutable_floats(out[0]));
    else
      arrange_back(where, reinterpret_cast<const T*>(where.scratch), mutable_floats(out[0]));
    bias_gradient_.run<T>(where, in, out);
  }

  std::size_t weights_bytes() const { return scratch_bytes_of<float>(task_.shape.window() * task_.shape.filters); }
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
  BiasGradient bias_gradient_;
};

ConvolutionTask task_of(Kind kind, const OpCall& call, const Convolution& shape) {
  ConvolutionTask task{kind, shape};
  task.dtype = call.inputs[0].dtype;
  task.tf32 = may_use_tf32();
  return task;
}

/// Makes the kernel that runs `convolution` for `task`. Returns null if `convolution` is null.
std::unique_ptr<Kernel> library_kernel(const OpCall& call, const ConvolutionTask& task,
                                       std::unique_ptr<LibraryConvolution> convolution) {
  if (convolution == nullptr) return nullptr;
  return with_float_type(task.dtype, [&](auto element) {
    return object_kernel(call, LibraryCall<decltype(element)>(call, task, std::move(convolution)));
  });
}

}  // namespace

std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape) {
  auto task = task_of(Kind::forward, call, shape);
  task.bias = call.inputs.size() == 3;
  task.relu = call.attributes.flag("relu");
  return library_kernel(call, task, find_library_convolution(task));
}

std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape) {
  const auto task = task_of(Kind::grad_data, call, shape);
  return library_kernel(call, task, find_library_convolution(task));
}

std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape) {
  auto task = task_of(Kind::grad_weights, call, shape);
  // Libraries have only few and slow algorithms that read 16-bit numbers and write float32. So, for 16-bit inputs, a
  // second task, which rounds the gradient to 16 bits, is measured, too, and the faster task is taken.
  auto rounded = task;
  rounded.gradient = task.dtype;
  auto convolution = is_16_bit(task.dtype) ? faster_library_convolution(task, rounded) : find_library_convolution(task);
  return library_kernel(call, task, std::move(convolution));
}

}  // namespace troupe::cuda
