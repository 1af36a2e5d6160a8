#include <algorithm>
#include <cmath>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

/// Returns element `element` of the labels. Throws InvalidSample if it is not in [0, classes).
std::int64_t checked_label(const Tensor& labels, std::int64_t element, std::int64_t classes) {
  const auto label = labels.data<std::int32_t>()[static_cast<std::size_t>(element)];
  const auto row_elements = std::max<std::int64_t>(1, labels.shape().row_elements());
  if (label < 0 || label >= classes)
    throw InvalidSample("softmax_cross_entropy",
                        "label " + std::to_string(label) + " " + InvalidSample::place_text(element, row_elements) +
                            " is not one of the " + std::to_string(classes) + " classes",
                        element, row_elements);
  return label;
}

// log_softmax_row() sums rows of fewer elements one element after the other, not with lane_sum().
constexpr std::int64_t kLongRow = 32;

/// Computes y = x - log(sum(exp(x))) of one row.
TROUPE_SIMD_CLONES void log_softmax_row(std::int64_t classes, const float* x, float* y) {
  const float largest = lane_max(classes, x);
  float sum = 0.0F;
  for (std::int64_t i = 0; i < classes; ++i) y[i] = exp_of(x[i] - largest);
  if (classes < kLongRow)
    for (std::int64_t i = 0; i < classes; ++i) sum += y[i];
  else
    sum = lane_sum(classes, [y](std::int64_t i) { return y[i]; });
  // The subtractions are in this order: largest + log(sum) would round the logarithm away if x is large.
  const auto log_sum = std::log(sum);
  for (std::int64_t i = 0; i < classes; ++i) y[i] = (x[i] - largest) - log_sum;
}

TROUPE_SIMD_CLONES float sum_of(std::int64_t n, const float* x) {
  return lane_sum(n, [x](std::int64_t i) { return x[i]; });
}

TROUPE_SIMD_CLONES float product_sum(std::int64_t n, const float* x, const float* y) {
  return lane_sum(n, [x, y](std::int64_t i) { return x[i] * y[i]; });
}

/// Computes dx = a * exp(y) - b * t of one row.
TROUPE_SIMD_CLONES void exp_minus(std::int64_t n, const float* y, float a, const float* t, float b, float* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = a * exp_of(y[i]) - b * t[i];
}

TROUPE_SIMD_CLONES void subtract(std::int64_t n, float number, float* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] -= number;
}

/// Calls visit(row) with the index of every row of a tensor whose last axis has the size `width`.
template <class Visit>
void for_each_row(const Tensor& tensor, std::int64_t width, Visit visit) {
  for (std::int64_t row = 0; row < tensor.elements() / width; ++row) visit(row);
}

/// The attributes of a loss or metric: label smoothing, 0 if there is none, and the ignored label, if there is one.
struct Target {
  float smoothing;
  bool has_ignored;
  std::int32_t ignored;

  explicit Target(const Attributes& attributes)
      : smoothing(attributes.has("smoothing") ? static_cast<float>(attributes.number("smoothing")) : 0.0F),
        has_ignored(attributes.has("ignored")),
        ignored(has_ignored ? static_cast<std::int32_t>(attributes.integer("ignored")) : 0) {}
  bool ignores(std::int32_t label) const { return has_ignored && label == ignored; }
};

TROUPE_SIMD_CLONES void scaled_exp(std::int64_t n, const float* x, float factor, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp_of(x[i]) * factor;
}

/// The gradient of the loss of a row. Without input 3, input 0 has the gradients of the losses, one for each row. With
/// input 3, the batch info, input 0 is the gradient of the mean loss, which is divided by the number of rows of the
/// whole batch.
float loss_gradient(Inputs in, std::int64_t row) {
  if (in.size() < 4) return floats(in[0])[row];
  return floats(in[0])[0] / static_cast<float>(BatchInfo::read(in[3]).global_rows);
}

/// A kernel of the gradient of softmax_cross_entropy with respect to the logits. Input 1 must hold the logits if
/// `of_logits`, else the log probabilities.
std::unique_ptr<Kernel> cross_entropy_grad_kernel(const OpCall& call, bool of_logits) {
  return function_kernel(
      [classes = call.inputs[1].shape.back(0), target = Target(call.attributes), of_logits](Inputs in, Outputs out) {
        const auto labels = in[2].data<std::int32_t>();
        for (std::int64_t row = 0; row < static_cast<std::int64_t>(labels.size()); ++row) {
          const auto of_row = loss_gradient(in, row);
          auto* dx = mutable_floats(out[0]) + row * classes;
          if (target.ignores(labels[row])) {
            std::fill_n(dx, classes, 0.0F);
            continue;
          }
          const auto* x = floats(in[1]) + row * classes;
          if (of_logits) log_softmax_row(classes, x, dx);
          scaled_exp(classes, of_logits ? dx : x, of_row, dx);
          const auto label = checked_label(in[2], row, classes);
          if (target.smoothing != 0.0F) subtract(classes, target.smoothing / static_cast<float>(classes) * of_row, dx);
          dx[label] -= target.smoothing == 0.0F ? of_row : (1.0F - target.smoothing) * of_row;
        }
      });
}

}  // namespace

std::unique_ptr<Kernel> make_log_softmax(const OpCall& call) {
  return function_kernel([width = call.inputs[0].shape.back(0)](Inputs in, Outputs out) {
    for_each_row(in[0], width, [&](std::int64_t row) {
      log_softmax_row(width, floats(in[0]) + row * width, mutable_floats(out[0]) + row * width);
    });
  });
}

// dx = dy - exp(y) * sum(dy), where y is the result of log_softmax and the sum is over a row.
std::unique_ptr<Kernel> make_log_softmax_grad(const OpCall& call) {
  return function_kernel([width = call.inputs[0].shape.back(0)](Inputs in, Outputs out) {
    for_each_row(in[0], width, [&](std::int64_t row) {
      const auto* dy = floats(in[0]) + row * width;
      exp_minus(width, floats(in[1]) + row * width, -sum_of(width, dy), dy, -1.0F,
                mutable_floats(out[0]) + row * width);
    });
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy(const OpCall& call) {
  return function_kernel(
      [classes = call.inputs[0].shape.back(0), target = Target(call.attributes)](Inputs in, Outputs out) {
        const auto labels = in[1].data<std::int32_t>();
        auto loss = out[0].mutable_data<float>();
        for (std::int64_t row = 0; row < static_cast<std::int64_t>(labels.size()); ++row) {
          const bool ignored = target.ignores(labels[row]);
          const auto label = ignored ? 0 : checked_label(in[1], row, classes);
          auto* log_probabilities = mutable_floats(out[1]) + row * classes;
          log_softmax_row(classes, floats(in[0]) + row * classes, log_probabilities);
          loss[row] = ignored ? 0.0F : -log_probabilities[label];
          if (ignored || target.smoothing == 0.0F) continue;
          const auto mean = sum_of(classes, log_probabilities) / static_cast<float>(classes);
          loss[row] = (1.0F - target.smoothing) * loss[row] - target.smoothing * mean;
        }
      });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const OpCall& call) {
  return cross_entropy_grad_kernel(call, false);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_logits_grad(const OpCall& call) {
  return cross_entropy_grad_kernel(call, true);
}

std::unique_ptr<Kernel> make_soft_cross_entropy(const OpCall& call) {
  return function_kernel([classes = call.inputs[0].shape.back(0)](Inputs in, Outputs out) {
    for_each_row(in[0], classes, [&](std::int64_t row) {
      auto* log_probabilities = mutable_floats(out[1]) + row * classes;
      log_softmax_row(classes, floats(in[0]) + row * classes, log_probabilities);
      mutable_floats(out[0])[row] = -product_sum(classes, floats(in[1]) + row * classes, log_probabilities);
    });
  });
}

// dx = dloss * (exp(y) * sum(p) - p), where y are the log probabilities of the logits and p the target probabilities of
// a row. The sum is computed, because p need not add up to 1.
std::unique_ptr<Kernel> make_soft_cross_entropy_grad(const OpCall& call) {
  return function_kernel([classes = call.inputs[1].shape.back(0)](Inputs in, Outputs out) {
    for_each_row(in[1], classes, [&](std::int64_t row) {
      const auto dloss = floats(in[0])[row];
      const auto* probabilities = floats(in[2]) + row * classes;
      exp_minus(classes, floats(in[1]) + row * classes, dloss * sum_of(classes, probabilities), probabilities, dloss,
                mutable_floats(out[0]) + row * classes);
    });
  });
}

std::unique_ptr<Kernel> make_count_correct(const OpCall& call) {
  return function_kernel(
      [classes = call.inputs[0].shape.back(0), target = Target(call.attributes)](Inputs in, Outputs out) {
        const auto labels = in[1].data<std::int32_t>();
        std::int64_t correct = 0;
        for (std::size_t row = 0; row < labels.size(); ++row) {
          const auto* logits = floats(in[0]) + static_cast<std::int64_t>(row) * classes;
          const bool right = std::max_element(logits, logits + classes) - logits == labels[row];
          correct += right && !target.ignores(labels[row]) ? 1 : 0;
        }
        out[0].mutable_data<std::int64_t>()[0] = correct;
      });
}

}  // namespace troupe::cpu
