#pragma once

#include <functional>
#include <optional>
#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// What one replica adds to a metric in one step: a sum of any shape that does not derive from the batch, float32 or
/// int64, and a count, a scalar. Over replicas and steps both are summed; the metric is sum / count.
struct MetricSums {
  MetricSums(Value sum_of_rows) : sum(sum_of_rows) {}  // NOLINT: a sum over the rows is a metric per row
  MetricSums(Value sum_of_all, Value count_of_all) : sum(sum_of_all), count(count_of_all) {}

  Value sum;
  Value count;  ///< invalid: the rows
};

/// How good a model is, by a number or a table of numbers that is reported beside the loss; computed by ops from its
/// outputs and the fields.
struct Metric {
  std::string name;
  std::function<MetricSums(const Outputs& outputs, const Inputs& fields)> sums;

  /// The same metric under another name.
  Metric named(std::string other) const { return {std::move(other), sums}; }
};

// In these an empty name means the only output of the model, and the last field of the data set.

/// "accuracy": the share of labels, int32[B, ...], at which logits, float32[B, ..., C], are largest. Ignored labels do
/// not count.
Metric accuracy(const std::string& logits = {}, const std::string& labels = {},
                std::optional<std::int32_t> ignored = {});
/// "top_k_accuracy", with the number k in the name: the share of labels that are among the k largest logits.
Metric top_k_accuracy(std::int64_t k, const std::string& logits = {}, const std::string& labels = {});
/// "mean_squared_error" and "mean_absolute_error" of an output against a field of the same shape, float32 [B, ...].
Metric mean_squared_error(const std::string& output = {}, const std::string& target = {});
Metric mean_absolute_error(const std::string& output = {}, const std::string& target = {});
/// "confusion_matrix": a table [C, C] with the number of labels of class i, the row, where the logits of class j are
/// largest, by that of all labels.
Metric confusion_matrix(const std::string& logits = {}, const std::string& labels = {});

}  // namespace troupe
