#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "troupe/ops/nn/metric.hpp"

namespace troupe {

/// What training minimises: from the outputs of a model and the fields of a batch one float32 per row, [B]. Any such
/// function; one of two values reads the model's only output and the last field. A loss may provide metrics (a member
/// function `metrics`), which are used where none are given.
class Loss {
 public:
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, const Outputs&, const Inputs&> Loss(Function function)
      : function_(function) {  // NOLINT: such a function is a loss
    if constexpr (requires { function.metrics(); }) metrics_ = function.metrics();
  }
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, Value, Value> Loss(
      Function function)  // NOLINT: such a function is a loss
      : function_([function](const Outputs& outputs, const Inputs& fields) {
          return function(outputs[""], fields[fields.fields().back().name]);
        }) {}

  Value operator()(const Outputs& outputs, const Inputs& fields) const { return function_(outputs, fields); }
  const std::vector<Metric>& metrics() const { return metrics_; }

 private:
  std::function<Value(const Outputs&, const Inputs&)> function_;
  std::vector<Metric> metrics_;
};

// In these an empty name of an output means the only one of the model, that of a field the last one.

/// Softmax cross-entropy of logits float32[B, ..., C] from integer labels int32[B, ...], or from probabilities
/// float32[B, ..., C]; of a row the mean over its labels that are not ignored. Provides the accuracy for integer
/// labels.
struct SoftmaxCrossEntropy {
  std::string logits = {};
  std::string labels = {};
  /// So much of the target is shared equally by all classes.
  double smoothing = 0.0;
  /// A label that does not count, such as padding. Only for integer labels.
  std::optional<std::int32_t> ignored = {};
  /// The labels are probabilities.
  bool soft = false;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;
};

/// Cross-entropy of the probabilities sigmoid(x) from targets in [0, 1], both float32 [B, ...]; x are logits. Of a row
/// the mean.
struct BinaryCrossEntropy {
  std::string logits = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean, over the elements of a row, of (output - target) squared; both float32 [B, ...] of the same shape.
struct MeanSquaredError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean, over the elements of a row, of |output - target|.
struct MeanAbsoluteError {
  std::string output = {};
  std::string target = {};

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// The mean, over the elements of a row, of d^2 / 2 for a difference d of at most `delta`, else delta (|d| - delta /
/// 2): Huber, "Robust estimation of a location parameter" (1964).
struct Huber {
  std::string output = {};
  std::string target = {};
  double delta = 1.0;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

/// A loss times a weight for every row, a field float32[B] or [B, 1]. The mean over a batch still divides by its rows.
struct WeightedByRow {
  Loss loss;
  std::string weight;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const { return loss.metrics(); }
};

/// Several losses, each times a weight. Provides the metrics of all; of several with one name the later ones get a
/// number behind it.
struct SumOfLosses {
  struct Term {
    double weight;
    Loss loss;
  };
  std::vector<Term> terms;

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const;
};

}  // namespace troupe
