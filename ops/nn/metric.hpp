#pragma once

#include <functional>
#include <optional>
#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// The contribution of one replica and step to a metric: a sum of any shape that does not depend on the batch size,
/// float32 or int64, and a count, a scalar. Sums and counts are added up over replicas and steps; the metric is sum /
/// count.
struct MetricSums {
  MetricSums(Value sum_of_rows) : sum(sum_of_rows) {}  // NOLINT: a sum alone is divided by the number of rows
  MetricSums(Value sum_of_all, Value count_of_all) : sum(sum_of_all), count(count_of_all) {}

  Value sum;
  Value count;  ///< invalid: the number of rows
};

/// A number or a table of numbers that is reported beside the loss; computed by ops from a model's outputs and the
/// fields of a batch.
struct Metric {
  std::string name;
  std::function<MetricSums(const Outputs& outputs, const Inputs& fields)> sums;

  /// The same metric under another name.
  Metric named(std::string other) const { return {std::move(other), sums}; }
};

// In the metrics below, an empty name of an output means the model's only output, and an empty name of a field the last
// field.

/// "accuracy": the fraction of labels, int32[B, ...], at which the logits, float32[B, ..., C], are largest. Labels that
/// are `ignored` do not count.
Metric accuracy(const std::string& logits = {}, const std::string& labels = {},
                std::optional<std::int32_t> ignored = {});
/// "top_k_accuracy", with the number k in the name: the fraction of labels that are among the k largest logits.
Metric top_k_accuracy(std::int64_t k, const std::string& logits = {}, const std::string& labels = {});
/// "mean_squared_error" and "mean_absolute_error" between an output and a field of the same shape, float32 [B, ...].
Metric mean_squared_error(const std::string& output = {}, const std::string& target = {});
Metric mean_absolute_error(const std::string& output = {}, const std::string& target = {});
/// "confusion_matrix": a table [C, C]. The entry at row i and column j is the fraction of all labels that are i while
/// the logit of class j is largest.
Metric confusion_matrix(const std::string& logits = {}, const std::string& labels = {});

}  // namespace troupe
