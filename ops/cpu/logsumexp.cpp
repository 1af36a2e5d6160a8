#include <cmath>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

/// A function object that returns exp(x[i] - largest).
struct ShiftedExp {
  const float* x;
  float largest;

  [[gnu::always_inline]] float operator()(std::int64_t i) const { return exp_of(x[i] - largest); }
};

/// The logarithm of the sum of exp(x) over one row of `width` elements.
TROUPE_SIMD_CLONES float logsumexp_of(std::int64_t width, const float* x) {
  const float largest = lane_max(width, x);
  // With an infinite `largest`, x[i] - largest could be infinity - infinity, which is NaN.
  if (!std::isfinite(largest)) return largest;
  return largest + std::log(lane_sum(width, ShiftedExp{x, largest}));
}

}  // namespace

std::unique_ptr<Kernel> make_logsumexp(const OpCall& call) {
  return function_kernel([width = call.inputs[0].shape.back(0)](Inputs in, Outputs out) {
    for (std::int64_t row = 0; row < out[0].elements(); ++row)
      mutable_floats(out[0])[row] = logsumexp_of(width, floats(in[0]) + row * width);
  });
}

}  // namespace troupe::cpu
