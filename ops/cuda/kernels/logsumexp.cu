#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/softmax.cuh"

namespace troupe::cuda {

namespace {

struct LogsumexpRow {
  std::int64_t width;
  const float* x;
  float* y;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto [largest, sum] = softmax_scale(threads, width, x + row * width);
    // If the largest element is infinite or a NaN, the sum is a NaN, because infinity minus infinity is a NaN, too. The
    // result is then the largest element itself.
    if (threads.lane() == 0) y[row] = is_finite(largest) ? largest + logf(sum) : largest;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_logsumexp(const OpCall& call) {
  return cuda_kernel(call, [width = call.inputs[0].shape.back(0)](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, out[0].elements(), width, LogsumexpRow{width, floats(in[0]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
