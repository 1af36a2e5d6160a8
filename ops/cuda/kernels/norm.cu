#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

namespace {

/// Normalizes a row, and stores its mean and its factor, 1 / deviation. For rms_norm the mean counts as 0, and `means`
/// and `shift` are null.
struct NormRow {
  std::int64_t width;
  float epsilon;
  const float* x;
  const float* scale;
  const float* shift;
  float* y;
  float* means;
  float* factors;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* of_row = x + row * width;
    const auto count = static_cast<float>(width);
    float mean = 0.0F, squares = 0.0F;
    if (shift != nullptr) {
      for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount) mean += of_row[i];
      mean = threads.sum(mean) / count;
    }
    for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount)
      squares += (of_row[i] - mean) * (of_row[i] - mean);
    const float factor = 1.0F / sqrtf(threads.sum(squares) / count + epsilon);
    for (std::int64_t i = threads.lane(); i < width; i += Threads::kCount)
      y[row * width + i] = (of_row[i] - mean) * factor * scale[i] + (shift != nullptr ? shift[i] : 0.0F);
    if (threads.lane() != 0) return;
    factors[row] = factor;
    if (means != nullptr) means[row] = mean;
  }
};

/// The inputs of layer_norm_grad and rms_norm_grad. `means` is null for rms_norm_grad.
struct NormGrad {
  std::int64_t width;
  const float* dy;
  const float* x;
  const float* scale;
  const float* means;
  const float* factors;

  /// Returns element i of a row of x, normalized.
  __device__ float normalized(std::int64_t row, std::int64_t i) const {
    return (x[row * width + i] - (means != nullptr ? means[row] : 0.0F)) * factors[row];
  }
};

/// Computes the gradient of x in a row.
struct NormGradRow {
  NormGrad grad;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* dy = grad.dy + row * grad.width;
    const auto count = static_cast<float>(grad.width);
    float along = 0.0F, mean = 0.0F;
    for (std::int64_t i = threads.lane(); i < grad.width; i += Threads::kCount) {
      along += dy[i] * grad.scale[i] * grad.normalized(row, i);
      mean += dy[i] * grad.scale[i];
    }
    along = threads.sum(along) / count;
    mean = grad.means != nullptr ? threads.sum(mean) / count : 0.0F;
    for (std::int64_t i = threads.lane(); i < grad.width; i += Threads::kCount)
      dx[row * grad.width + i] = grad.factors[row] * (dy[i] * grad.scale[i] - mean - grad.normalized(row, i) * along);
  }
};

/// Sets the terms that an element adds to the gradients of its column's scale and shift.
struct ScaleTerms {
  NormGrad grad;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[2]) const {
    const float dy = grad.dy[row * grad.width + column];
    numbers[0] = dy * grad.normalized(row, column);
    numbers[1] = dy;
  }
};
/// Stores the gradients of a column's scale and shift. `dshift` is null for rms_norm_grad.
struct StoreScale {
  float* dscale;
  float* dshift;
  __device__ void operator()(std::int64_t column, const float (&combined)[2]) const {
    dscale[column] = combined[0];
    if (dshift != nullptr) dshift[column] = combined[1];
  }
};

std::unique_ptr<Kernel> make_norm(const OpCall& call, bool centered) {
  const auto width = call.inputs[0].shape.back(0);
  const auto epsilon = option(call, "epsilon");
  return cuda_kernel(call, [=](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements() / width, width,
                 NormRow{width, epsilon, floats(in[0]), floats(in[1]), centered ? floats(in[2]) : nullptr,
                         mutable_floats(out[0]), centered ? mutable_floats(out[1]) : nullptr,
                         mutable_floats(out[centered ? 2 : 1])});
  });
}

std::unique_ptr<Kernel> make_norm_grad(const OpCall& call, bool centered) {
  const auto width = call.inputs[1].shape.back(0), rows = call.inputs[1].shape.elements() / width;
  const ColumnSums<2> sums(rows, width);
  return cuda_kernel(
      call,
      [=](const Launch& where, Inputs in, Outputs out) {
        const NormGrad grad{width,
                            floats(in[0]),
                            floats(in[1]),
                            floats(in[2]),
                            centered ? floats(in[3]) : nullptr,
                            floats(in[centered ? 4 : 3])};
        for_each_row(where, rows, width, NormGradRow{grad, mutable_floats(out[0])});
        sums.run(where, where.scratch, ScaleTerms{grad},
                 StoreScale{mutable_floats(out[1]), centered ? mutable_floats(out[2]) : nullptr});
      },
      sums.scratch_bytes());
}

}  // namespace

std::unique_ptr<Kernel> make_layer_norm(const OpCall& call) {
  return make_norm(call, true);
}
std::unique_ptr<Kernel> make_layer_norm_grad(const OpCall& call) {
  return make_norm_grad(call, true);
}
std::unique_ptr<Kernel> make_rms_norm(const OpCall& call) {
  return make_norm(call, false);
}
std::unique_ptr<Kernel> make_rms_norm_grad(const OpCall& call) {
  return make_norm_grad(call, false);
}

}  // namespace troupe::cuda
