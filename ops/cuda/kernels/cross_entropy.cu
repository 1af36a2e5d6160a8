#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/softmax.cuh"

namespace troupe::cuda {

namespace {

/// The attributes of the loss: label smoothing, and the ignored label.
struct Target {
  float smoothing;
  bool has_ignored;
  std::int32_t ignored;

  explicit Target(const Attributes& attributes)
      : smoothing(attributes.has("smoothing") ? static_cast<float>(attributes.number("smoothing")) : 0.0F),
        has_ignored(attributes.has("ignored")),
        ignored(has_ignored ? static_cast<std::int32_t>(attributes.integer("ignored")) : 0) {}
  __device__ bool ignores(std::int32_t label) const { return has_ignored && label == ignored; }
};

/// Whether a row counts in the loss: its label is not ignored, and is one of the classes. Reports a label that is
/// neither ignored nor one of the classes.
template <class Threads>
__device__ bool counts(Threads threads, const InvalidReport& invalid, const Target& target, std::int32_t label,
                       std::int64_t row, std::int64_t classes) {
  if (target.ignores(label)) return false;
  if (label >= 0 && label < classes) return true;
  if (threads.lane() == 0) invalid(InvalidValue::Kind::label, row, label, classes);
  return false;
}

/// Computes the loss of a row, which is 0 if the row does not count, and the logarithms of the row's probabilities.
struct CrossEntropyRow {
  InvalidReport invalid;
  Target target;
  std::int64_t classes;
  const float* x;
  const std::int32_t* labels;
  float* loss;
  float* log_probabilities;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* of_row = x + row * classes;
    const auto [largest, sum] = softmax_scale(threads, classes, of_row);
    const float log_sum = logf(sum);
    float total = 0.0F;
    for (std::int64_t i = threads.lane(); i < classes; i += Threads::kCount) {
      const float log_probability = (of_row[i] - largest) - log_sum;
      log_probabilities[row * classes + i] = log_probability;
      total += log_probability;
    }
    // All threads of the row must take part in the sum, so it comes before the first return.
    if (target.smoothing != 0.0F) total = threads.sum(total);
    const bool has_loss = counts(threads, invalid, target, labels[row], row, classes);
    if (threads.lane() != 0) return;
    float row_loss = has_loss ? -((of_row[labels[row]] - largest) - log_sum) : 0.0F;
    if (has_loss && target.smoothing != 0.0F)
      row_loss = (1.0F - target.smoothing) * row_loss - target.smoothing * (total / static_cast<float>(classes));
    loss[row] = row_loss;
  }
};

/// The logarithms of a row's probabilities, which the op softmax_cross_entropy has stored.
struct StoredLogProbabilities {
  const float* of_rows;
  std::int64_t classes;

  struct OfRow {
    const float* numbers;
    __device__ float operator()(std::int64_t i) const { return numbers[i]; }
  };
  template <class Threads>
  __device__ OfRow of_row(Threads, std::int64_t row) const {
    return {of_rows + row * classes};
  }
};
/// The logarithms of a row's probabilities, computed from the logits, to the same bits as by softmax_cross_entropy.
struct LogitProbabilities {
  const float* of_rows;
  std::int64_t classes;

  struct OfRow {
    const float* logits;
    float largest, log_sum;
    __device__ float operator()(std::int64_t i) const { return (logits[i] - largest) - log_sum; }
  };
  template <class Threads>
  __device__ OfRow of_row(Threads threads, std::int64_t row) const {
    const auto* logits = of_rows + row * classes;
    const auto [largest, sum] = softmax_scale(threads, classes, logits);
    return {logits, largest, logf(sum)};
  }
};

/// The gradient with respect to the loss of a row; of_row() returns it.
struct LossGradient {
  const float* dloss;
  const BatchInfo* info;  // if not null, dloss is a scalar: the gradient of the batch's mean loss

  __device__ float of_row(std::int64_t row) const {
    return info == nullptr ? dloss[row] : *dloss / static_cast<float>(info->global_rows);
  }
};

/// Computes the gradient of the logits of a row: zero if the row does not count in the loss.
template <class LogProbabilities>
struct CrossEntropyGradRow {
  InvalidReport invalid;
  Target target;
  std::int64_t classes;
  LossGradient dloss;
  LogProbabilities log_probabilities;
  const std::int32_t* labels;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    // The loads of label and gradient are issued here, before the threads of the row wait for each other.
    const auto label = labels[row];
    const float of_row = dloss.of_row(row);
    const auto log_probability = log_probabilities.of_row(threads, row);
    const bool has_gradient = counts(threads, invalid, target, label, row, classes);
    const float factor = has_gradient ? of_row : 0.0F;
    const float of_others = target.smoothing / static_cast<float>(classes) * factor;
    const float of_label = target.smoothing == 0.0F ? factor : (1.0F - target.smoothing) * factor;
    for (std::int64_t i = threads.lane(); i < classes; i += Threads::kCount) {
      float gradient = has_gradient ? expf(log_probability(i)) * factor : 0.0F;
      if (target.smoothing != 0.0F) gradient -= of_others;
      dx[row * classes + i] = has_gradient && i == label ? gradient - of_label : gradient;
    }
  }
};

/// Computes the loss of a row whose target is a distribution, and the logarithms of the row's probabilities.
struct SoftCrossEntropyRow {
  std::int64_t classes;
  const float* x;
  const float* probabilities;
  float* loss;
  float* log_probabilities;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    auto* y = log_probabilities + row * classes;
    log_softmax_row(threads, classes, x + row * classes, y);
    // Every thread reads only elements of y that it has written itself, so no thread waits for another.
    const float sum = row_sum(threads, classes, RowProducts{probabilities + row * classes, y});
    if (threads.lane() == 0) loss[row] = -sum;
  }
};

// Computes the gradient of the logits of a row, dx = dloss * (exp(y) * sum(p) - p), where y has the logarithms of the
// row's probabilities. The target probabilities p need not add up to 1.
struct SoftCrossEntropyGradRow {
  std::int64_t classes;
  const float* dloss;
  const float* log_probabilities;
  const float* probabilities;
  float* dx;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const auto* y = log_probabilities + row * classes;
    const auto* p = probabilities + row * classes;
    const float factor = dloss[row];
    const float of_exp = factor * row_sum(threads, classes, RowElements{p});
    for (std::int64_t i = threads.lane(); i < classes; i += Threads::kCount)
      dx[row * classes + i] = of_exp * expf(y[i]) - factor * p[i];
  }
};

template <class LogProbabilities>
std::unique_ptr<Kernel> cross_entropy_grad_kernel(const OpCall& call) {
  return cuda_kernel(call, [classes = call.inputs[1].shape.back(0), target = Target(call.attributes)](
                               const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[2].elements(), classes,
                 CrossEntropyGradRow<LogProbabilities>{where.invalid.of_elements(in[2]),
                                                       target,
                                                       classes,
                                                       {floats(in[0]), optional_data_of<BatchInfo>(in, 3)},
                                                       {floats(in[1]), classes},
                                                       data_of<std::int32_t>(in[2]),
                                                       mutable_floats(out[0])});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const OpCall& call) {
  return cuda_kernel(call, [classes = call.inputs[0].shape.back(0), target = Target(call.attributes)](
                               const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[1].elements(), classes,
                 CrossEntropyRow{where.invalid.of_elements(in[1]), target, classes, floats(in[0]),
                                 data_of<std::int32_t>(in[1]), mutable_floats(out[0]), mutable_floats(out[1])});
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const OpCall& call) {
  return cross_entropy_grad_kernel<StoredLogProbabilities>(call);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_logits_grad(const OpCall& call) {
  return cross_entropy_grad_kernel<LogitProbabilities>(call);
}

std::unique_ptr<Kernel> make_soft_cross_entropy(const OpCall& call) {
  return cuda_kernel(call, [classes = call.inputs[0].shape.back(0)](const Launch& where, Inputs in, Outputs out) {
    for_each_row(
        where, out[0].elements(), classes,
        SoftCrossEntropyRow{classes, floats(in[0]), floats(in[1]), mutable_floats(out[0]), mutable_floats(out[1])});
  });
}

std::unique_ptr<Kernel> make_soft_cross_entropy_grad(const OpCall& call) {
  return cuda_kernel(call, [classes = call.inputs[1].shape.back(0)](const Launch& where, Inputs in, Outputs out) {
    for_each_row(where, in[0].elements(), classes,
                 SoftCrossEntropyGradRow{classes, floats(in[0]), floats(in[1]), floats(in[2]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
