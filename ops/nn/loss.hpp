#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// What one replica adds to a metric in one step, as scalars, float32 or int64. Over replicas and steps both are
/// summed; the metric is sum / count.
struct MetricSums {
  MetricSums(Value sum_of_rows) : sum(sum_of_rows) {}  // NOLINT: a sum over the rows is a metric per row
  MetricSums(Value sum_of_all, Value count_of_all) : sum(sum_of_all), count(count_of_all) {}

  Value sum;
  Value count;  ///< invalid: the rows
};

/// How good a model is, by a number that is reported beside the loss; computed by ops from its outputs and the fields.
struct Metric {
  std::string name;
  std::function<MetricSums(const Outputs& outputs, const Inputs& fields)> sums;
};

// In these an empty name means the only output of the model, and the last field of the data set.

/// "accuracy": the share of rows whose largest logit, of float32[B, C], is at the label, int32[B].
Metric accuracy(const std::string& logits = {}, const std::string& labels = {});
/// "mean_squared_error" of an output against a field of the same shape, float32 [B, ...].
Metric mean_squared_error(const std::string& output = {}, const std::string& target = {});

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

/// Softmax cross-entropy of logits float32[B, C] from integer labels int32[B]. Provides the accuracy.
struct SoftmaxCrossEntropy {
  std::string logits = {};  ///< an output of the model; empty: the only one
  std::string labels = {};  ///< a field; empty: the last

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
  std::vector<Metric> metrics() const { return {accuracy(logits, labels)}; }
};

/// The mean, over the elements of a row, of (output - target) squared; both float32 [B, ...] of the same shape.
struct MeanSquaredError {
  std::string output = {};  ///< an output of the model; empty: the only one
  std::string target = {};  ///< a field; empty: the last

  Value operator()(const Outputs& outputs, const Inputs& fields) const;
};

}  // namespace troupe
