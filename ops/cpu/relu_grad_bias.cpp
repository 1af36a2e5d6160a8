#include <algorithm>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void relu_grad_row(std::int64_t n, const float* dy, const float* y, float* dx, float* sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
    sums[i] += dx[i];
  }
}

}  // namespace

// Adds row by row, in the order of a sum over rows.
std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call) {
  const auto columns = call.outputs[1].shape[0];
  return function_kernel([columns, rows = call.inputs[0].shape.elements() / columns](Inputs in, Outputs out) {
    std::fill_n(mutable_floats(out[1]), columns, 0.0F);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = row * columns;
      relu_grad_row(columns, floats(in[0]) + at, floats(in[1]) + at, mutable_floats(out[0]) + at,
                    mutable_floats(out[1]));
    }
  });
}

}  // namespace troupe::cpu
