#include <cmath>

#include "troupe/ops/cpu/block_sums.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

/// The statistics of a row, by which the row and its gradient are computed: in layer_norm the mean and 1 /
/// sqrt(variance + epsilon), in rms_norm 0 and 1 / sqrt(mean of x squared + epsilon).
struct RowStatistics {
  float mean = 0.0F, factor = 1.0F;
};

/// Computes the statistics of a row of layer_norm if `centered`, else of rms_norm.
TROUPE_SIMD_CLONES RowStatistics statistics(std::int64_t n, const float* x, float epsilon, bool centered) {
  const auto count = static_cast<float>(n);
  const float mean = centered ? lane_sum(n, [x](std::int64_t i) { return x[i]; }) / count : 0.0F;
  const float squares = lane_sum(n, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  return {mean, 1.0F / std::sqrt(squares / count + epsilon)};
}

TROUPE_SIMD_CLONES void normalize_row(std::int64_t n, const float* x, RowStatistics row, const float* scale,
                                      const float* shift, float* y) {
  if (shift != nullptr)
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - row.mean) * row.factor * scale[i] + shift[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * row.factor * scale[i];
}

/// Computes dx, the gradient of one row x, and adds the terms of the row to the gradients of scale and shift. `dshift`
/// is null in rms_norm, which has no shift.
TROUPE_SIMD_CLONES void normalize_row_grad(std::int64_t n, const float* dy, const float* x, RowStatistics row,
                                           const float* scale, float* dx, float* dscale, float* dshift) {
  const auto count = static_cast<float>(n);
  const auto normalized = [=](std::int64_t i) { return (x[i] - row.mean) * row.factor; };
  const float along = lane_sum(n, [=](std::int64_t i) { return dy[i] * scale[i] * normalized(i); }) / count;
  const float mean = dshift != nullptr ? lane_sum(n, [=](std::int64_t i) { return dy[i] * scale[i]; }) / count : 0.0F;
  for (std::int64_t i = 0; i < n; ++i) {
    const float z = normalized(i);
    dscale[i] += dy[i] * z;
    dx[i] = row.factor * (dy[i] * scale[i] - mean - z * along);
  }
  if (dshift != nullptr)
    for (std::int64_t i = 0; i < n; ++i) dshift[i] += dy[i];
}

std::unique_ptr<Kernel> make_norm(const OpCall& call, bool centered) {
  const auto width = call.inputs[0].shape.back(0);
  const auto epsilon = float_attribute(call, "epsilon");
  return function_kernel([=](Inputs in, Outputs out) {
    for (std::int64_t row = 0; row < in[0].elements() / width; ++row) {
      const auto* x = floats(in[0]) + row * width;
      const auto row_statistics = statistics(width, x, epsilon, centered);
      normalize_row(width, x, row_statistics, floats(in[1]), centered ? floats(in[2]) : nullptr,
                    mutable_floats(out[0]) + row * width);
      mutable_floats(out[centered ? 2 : 1])[row] = row_statistics.factor;
      if (centered) mutable_floats(out[1])[row] = row_statistics.mean;
    }
  });
}

std::unique_ptr<Kernel> make_norm_grad(const OpCall& call, bool centered) {
  const auto width = call.inputs[1].shape.back(0);
  const auto rows = call.inputs[1].shape.elements() / width;
  return function_kernel([=, scales = BlockSums(width, rows), shifts = BlockSums(centered ? width : 0, rows)](
                             Inputs in, Outputs out) mutable {
    scales.begin(mutable_floats(out[1]));
    if (centered) shifts.begin(mutable_floats(out[2]));
    for (std::int64_t row = 0; row < rows; ++row) {
      const RowStatistics row_statistics{centered ? floats(in[3])[row] : 0.0F, floats(in[centered ? 4 : 3])[row]};
      normalize_row_grad(width, floats(in[0]) + row * width, floats(in[1]) + row * width, row_statistics, floats(in[2]),
                         mutable_floats(out[0]) + row * width, scales.next_row(),
                         centered ? shifts.next_row() : nullptr);
    }
    scales.finish();
    if (centered) shifts.finish();
  });
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

}  // namespace troupe::cpu
