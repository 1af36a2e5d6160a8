#include "troupe/ops/cuda/kernels/softmax.cuh"

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Computes the softmax of a row.
struct SoftmaxRow {
  std::int64_t width;
  const float* x;
  float* y;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto first = row * width;
    const auto [largest, sum] = softmax_scale(threads, width, x + first);
    for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount)
      y[first + i] = expf(x[first + i] - largest) / sum;
  }
};

// Computes the gradient of the softmax of a row: dx = y * (dy - sum(dy * y)).
struct SoftmaxGradRow {
  std::int64_t width;
  const float* dy;
  const float* y;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto first = row * width;
    const float sum = row_sum(threads, width, RowProducts{dy + first, y + first});
    for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount)
      dx[first + i] = y[first + i] * (dy[first + i] - sum);
  }
};

/// Computes the logarithm of the softmax of a row.
struct LogSoftmaxRow {
  std::int64_t width;
  const float* x;
  float* y;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    log_softmax_row(threads, width, x + row * width, y + row * width);
  }
};

// Computes the gradient of the log_softmax of a row: dx = dy - exp(y) * sum(dy).
struct LogSoftmaxGradRow {
  std::int64_t width;
  const float* dy;
  const float* y;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto first = row * width;
    const float sum = row_sum(threads, width, RowElements{dy + first});
    for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount)
      dx[first + i] = dy[first + i] - expf(y[first + i]) * sum;
  }
};

template <class Row>
std::unique_ptr<Kernel> map_rows(const OpCall& call) {
  return cuda_kernel(call, [width = call.inputs[0].shape.back(0)](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements() / width, width, Row{width, floats(in[0]), mutable_floats(out[0])});
  });
}
template <class Row>
std::unique_ptr<Kernel> map_rows_of_two(const OpCall& call) {
  return cuda_kernel(call, [width = call.inputs[0].shape.back(0)](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements() / width, width,
                 Row{width, floats(in[0]), floats(in[1]), mutable_floats(out[0])});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_softmax(const OpCall& call) {
  return map_rows<SoftmaxRow>(call);
}
std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call) {
  return map_rows_of_two<SoftmaxGradRow>(call);
}
std::unique_ptr<Kernel> make_log_softmax(const OpCall& call) {
  return map_rows<LogSoftmaxRow>(call);
}
std::unique_ptr<Kernel> make_log_softmax_grad(const OpCall& call) {
  return map_rows_of_two<LogSoftmaxGradRow>(call);
}

}  // namespace troupe::cuda
