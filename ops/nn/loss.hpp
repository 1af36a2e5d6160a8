#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "troupe/ops/nn/metric.hpp"

namespace troupe {

/// The function that training minimizes: from the outputs of a model and the fields of a batch one float32 per row,
/// [B]. Made from any such function; a function of two values reads the model's only output and the last field. A loss
/// may provide metrics (by a member function `metrics`), which are used if the user gives none.
class Loss {
 public:
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, const Outputs&, const Inputs&> Loss(Function function)
      : function_(function) {  // NOLINT: a function is accepted as a loss
    if constexpr (requires { function.metrics(); }) metrics_ = function.metrics();
  }
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, Value, Value> Loss(
      Function function)  // NOLINT: a function is accepted as a loss
      : function_([function](const Outputs& outputs, const Inputs& fields) {
          return function(outputs[""], fields[fields.fields().back().name]);
        }) {}

  Value operator()(const Outputs& outputs, const Inputs& fields) const { return function_(outputs, fields); }
  const std::vector<Metric>& metrics() const { return metrics_; }

 private:
  std::function<Value(const Outputs&, const Inputs&)> function_;
  std::vector<Metric> metrics_;
};

// In the losses below, an empty name of an output means the model's only output, and an empty name of a field the last
// field.

/// Softmax cross-entropy of logits float32[B, ..., C] from integer labels int32[B, ...], or from probabilities
/// float32[B, ..., C]. The loss of a row is the mean over its labels that are not ignored. Provides the accuracy metric
/// for integer labels.
struct SoftmaxCrossEntropy {
  std::string logits = {};
  std::string labels = {};
  /// The part of the target that is shared equally by all classes, in [0, 1].
  double smoothing = 0.0;
  /// The label that does not count, such as padding. Only for integer labels.
  std::optional<std::int32_t> ignored = {};
  /// Whether the labels are probabilities.
  bool soft = false;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;
};

/// Cross-entropy of the probabilities sigmoid(logits) from targets in [0, 1], both float32 [B, ...]. The loss of a row
/// is the mean over its elements.
struct BinaryCrossEntropy {
  std::string logits = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean over the elements of a row of (output - target)^2; both float32 [B, ...] of the same shape.
struct MeanSquaredError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean over the elements of a row of |output - target|; both float32 [B, ...] of the same shape.
struct MeanAbsoluteError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean over the elements of a row of d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2), where d = output -
/// target. Source: Huber, "Robust estimation of a location parameter" (1964).
struct Huber {
  std::string output = {};
  std::string target = {};
  double delta = 1.0;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// A loss times a weight per row, the field float32[B] or [B, 1] named `weight`. The mean over a batch still divides by
/// the number of rows.
struct WeightedByRow {
  Loss loss;
  std::string weight;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const { return loss.metrics(); }
};

/// The sum of several losses, each times a weight. Provides the metrics of all losses; a number is appended to a name
/// that is already in use.
struct SumOfLosses {
  /// A loss and the factor of its value in the sum.
  struct Term {
    double weight;
    Loss loss;
  };
  std::vector<Term> terms;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;
};

}  // namespace troupe
