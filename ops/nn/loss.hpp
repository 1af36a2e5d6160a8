#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "troupe/ops/nn/metric.hpp"

namespace troupe {

/// The number by which the mean of weighted losses divides: the sum of the weights over the rows of all replicas, as
/// the reduction "mean" of PyTorch does, or the number of these rows, as the reduction "sum_over_batch_size" of Keras
/// does.
enum class MeanOver { weights, rows };

/// Losses of the rows of a batch, and the weights by whose sum over all replicas their mean divides.
struct LossMean {
  Value losses;        ///< float32 [B], each multiplied by its weight
  Value weights = {};  ///< float32 [B]; invalid Value: every row weighs 1
};

/// The function that training minimizes. From the outputs of a model and the fields of a batch it returns float32 [B],
/// one loss for each row, whose mean over the rows of all replicas is the loss of the batch. Any such function can be
/// used as a Loss. A function of two values can be used, too: it gets the only output of the model and the last field
/// of the batch. A function with a member function `metrics` provides metrics, which training reports if the user gives
/// none. A function with a member function `means`, of the same arguments, divides by weights: `means` returns a vector
/// of LossMean, whose means add up to the loss of the batch. A mean whose weights add up to 0 is 0.
class Loss {
 public:
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, const Outputs&, const Inputs&> Loss(Function function)
      : function_(function) {  // NOLINT: a function is accepted as a loss
    if constexpr (requires { function.metrics(); }) metrics_ = function.metrics();
    if constexpr (requires(const Outputs& outputs, const Inputs& fields) { function.means(outputs, fields); })
      means_ = [function](const Outputs& outputs, const Inputs& fields) { return function.means(outputs, fields); };
  }
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, Value, Value> Loss(
      Function function)  // NOLINT: a function is accepted as a loss
      : function_([function](const Outputs& outputs, const Inputs& fields) {
          return function(outputs[""], fields[fields.fields().back().name]);
        }) {}

  Value operator()(const Outputs& outputs, const Inputs& fields) const { return function_(outputs, fields); }
  /// The means that add up to the loss of the batch.
  std::vector<LossMean> means(const Outputs& outputs, const Inputs& fields) const {
    return means_ ? means_(outputs, fields) : std::vector<LossMean>{{function_(outputs, fields)}};
  }
  const std::vector<Metric>& metrics() const { return metrics_; }

 private:
  std::function<Value(const Outputs&, const Inputs&)> function_;
  std::function<std::vector<LossMean>(const Outputs&, const Inputs&)> means_;
  std::vector<Metric> metrics_;
};

// In the losses below, an empty name of an output means the model's only output, and an empty name of a field means the
// last field. All losses return float32 [B].

/// Softmax cross-entropy of logits float32 [B, ..., C] from labels int32 [B, ...], or from probabilities float32 [B,
/// ..., C] if `soft` is set. The loss of a batch is the mean over all labels, or all probability vectors. With
/// `ignored` or `class_weights`, the mean divides by the sum of the weights of the labels that are not ignored, over
/// all replicas. The function itself, and MeanOver::rows, give each row the weighted mean over the labels of the row
/// that are not ignored, and 0 to a row without such labels. Provides the accuracy metric unless `soft` is set.
struct SoftmaxCrossEntropy {
  std::string logits = {};
  std::string labels = {};
  /// The part of the target that is divided equally among all classes. Throws Error if it is not in [0, 1].
  double smoothing = 0.0;
  /// Labels of this value, such as the label of padding, have the weight 0. Throws Error if set together with `soft`.
  std::optional<std::int32_t> ignored = {};
  /// True: the field `labels` has probabilities. False: it has integer labels.
  bool soft = false;
  /// The weight of a label by its class; empty: every class weighs 1. Throws Error if there is not one number for each
  /// class, a number is negative or not finite, or `soft` or `smoothing` is set, too.
  std::vector<float> class_weights = {};
  MeanOver mean = MeanOver::weights;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<LossMean> means(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;

 private:
  /// The weighted losses of all labels, and their weights, float32 [B, ...]. Without weights the second is invalid.
  std::pair<Value, Value> losses_of_labels(const Outputs& outputs, const Inputs& fields) const;
};

/// Cross-entropy of the probabilities sigmoid(logits) from targets in [0, 1]. Logits and targets are float32 [B, ...]
/// of the same shape. The loss of a row is the mean over the elements of the row.
struct BinaryCrossEntropy {
  std::string logits = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The loss of a row is the mean of (output - target)^2 over the elements of the row. Output and target are float32 [B,
/// ...] of the same shape.
struct MeanSquaredError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The loss of a row is the mean of |output - target| over the elements of the row. Output and target are float32 [B,
/// ...] of the same shape.
struct MeanAbsoluteError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// With d = output - target, the loss of an element is d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2); the loss
/// of a row is the mean over the elements of the row. Output and target are float32 [B, ...] of the same shape. Throws
/// Error if delta is not above 0. Source: Huber, "Robust estimation of a location parameter" (1964).
struct Huber {
  std::string output = {};
  std::string target = {};
  double delta = 1.0;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// Multiplies the loss of each row by a weight. The field `weight`, float32 [B] or [B, 1], holds the weights. The mean
/// over a batch divides by the sum of the weights, or by the number of rows; if `loss` divides by weights of its own,
/// these weights are multiplied by those of the rows. Provides the metrics of `loss`, which are not weighted.
struct WeightedByRow {
  Loss loss;
  std::string weight;
  MeanOver mean = MeanOver::weights;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<LossMean> means(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const { return loss.metrics(); }
};

/// The sum of several losses, each a mean of its own and multiplied by a weight. Provides the metrics of all losses; if
/// several metrics have one name, the second gets the suffix _2, the third _3 and so on. Throws Error if `terms` is
/// empty.
struct SumOfLosses {
  /// A loss and the weight by which it is multiplied in the sum.
  struct Term {
    double weight;
    Loss loss;
  };
  std::vector<Term> terms;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<LossMean> means(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;
};

}  // namespace troupe
