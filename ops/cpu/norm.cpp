#include <algorithm>
#include <cmath>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

/// What the gradient needs of a row.
struct RowStatistics {
  float mean = 0.0F, factor = 1.0F;
};

TROUPE_SIMD_CLONES RowStatistics statistics(std::int64_t n, const float* x, float epsilon, bool centred) {
  const auto count = static_cast<float>(n);
  const float mean = centred ? lane_sum(n, [x](std::int64_t i) { return x[i]; }) / count : 0.0F;
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

/// The gradient of one row, and what the row adds to the gradients of scale and shift (null: there is none).
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

std::unique_ptr<Kernel> make_norm(const OpCall& call, bool centred) {
  const auto width = call.inputs[0].shape.back(0);
  const auto epsilon = static_cast<float>(call.attributes.number("epsilon"));
  return function_kernel([=](Inputs in, Outputs out) {
    for (std::int64_t row = 0; row < in[0].elements() / width; ++row) {
      const auto* x = floats(in[0]) + row * width;
      const auto found = statistics(width, x, epsilon, centred);
      normalize_row(width, x, found, floats(in[1]), centred ? floats(in[2]) : nullptr,
                    mutable_floats(out[0]) + row * width);
      mutable_floats(out[centred ? 2 : 1])[row] = found.factor;
      if (centred) mutable_floats(out[1])[row] = found.mean;
    }
  });
}

std::unique_ptr<Kernel> make_norm_grad(const OpCall& call, bool centred) {
  const auto width = call.inputs[1].shape.back(0);
  return function_kernel([=](Inputs in, Outputs out) {
    for (std::size_t i = 1; i < out.size(); ++i) std::ranges::fill(out[i].mutable_data<float>(), 0.0F);
    for (std::int64_t row = 0; row < in[1].elements() / width; ++row) {
      const RowStatistics found{centred ? floats(in[3])[row] : 0.0F, floats(in[centred ? 4 : 3])[row]};
      normalize_row_grad(width, floats(in[0]) + row * width, floats(in[1]) + row * width, found, floats(in[2]),
                         mutable_floats(out[0]) + row * width, mutable_floats(out[1]),
                         centred ? mutable_floats(out[2]) : nullptr);
    }
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
