#include <algorithm>
#include <cmath>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/exp.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/loop_kernel.hpp"

namespace troupe::cpu {

namespace {

std::int64_t checked_label(std::int32_t label, std::int64_t row, std::int64_t classes) {
  if (label < 0 || label >= classes)
    throw Error("softmax_cross_entropy", "label " + std::to_string(label) + " of row " + std::to_string(row) +
                                             " is not one of the " + std::to_string(classes) + " classes");
  return label;
}

/// y = x minus the logarithm of the sum of exp(x).
TROUPE_SIMD_CLONES void log_softmax_row(std::int64_t classes, const float* x, float* y) {
  float largest = x[0];
  for (std::int64_t i = 1; i < classes; ++i) largest = std::max(largest, x[i]);
  float sum = 0.0F;
  for (std::int64_t i = 0; i < classes; ++i) y[i] = exp_of(x[i] - largest);
  for (std::int64_t i = 0; i < classes; ++i) sum += y[i];
  // In this order: largest + log(sum) would round the logarithm away where x is large.
  const auto log_sum = std::log(sum);
  for (std::int64_t i = 0; i < classes; ++i) y[i] = (x[i] - largest) - log_sum;
}

TROUPE_SIMD_CLONES void scaled_exp(std::int64_t n, const float* x, float factor, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp_of(x[i]) * factor;
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const OpCall& call) {
  return loop_kernel([classes = call.inputs[0].shape[1]](Inputs in, Outputs out) {
    const auto labels = in[1].data<std::int32_t>();
    auto loss = out[0].mutable_data<float>();
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(labels.size()); ++row) {
      const auto label = checked_label(labels[row], row, classes);
      auto* log_probabilities = mutable_floats(out[1]) + row * classes;
      log_softmax_row(classes, floats(in[0]) + row * classes, log_probabilities);
      loss[row] = -log_probabilities[label];
    }
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const OpCall& call) {
  return loop_kernel([classes = call.inputs[1].shape[1]](Inputs in, Outputs out) {
    const auto dloss = in[0].data<float>();
    const auto labels = in[2].data<std::int32_t>();
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(labels.size()); ++row) {
      auto* dx = mutable_floats(out[0]) + row * classes;
      scaled_exp(classes, floats(in[1]) + row * classes, dloss[row], dx);
      dx[checked_label(labels[row], row, classes)] -= dloss[row];
    }
  });
}

std::unique_ptr<Kernel> make_count_correct(const OpCall& call) {
  return loop_kernel([classes = call.inputs[0].shape[1]](Inputs in, Outputs out) {
    const auto labels = in[1].data<std::int32_t>();
    std::int64_t correct = 0;
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const auto* logits = floats(in[0]) + static_cast<std::int64_t>(row) * classes;
      correct += std::max_element(logits, logits + classes) - logits == labels[row] ? 1 : 0;
    }
    out[0].mutable_data<std::int64_t>()[0] = correct;
  });
}

}  // namespace troupe::cpu
