#pragma once

#include <functional>
#include <optional>
#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

/// The contribution of one replica in one step to a metric: a sum, which is float32 or int64 of any shape without the
/// batch, and a count, which is a scalar. Training adds up the sums and the counts over replicas and steps; the metric
/// is the total sum divided by the total count.
struct MetricSums {
  MetricSums(Value sum_of_rows) : sum(sum_of_rows) {}  // NOLINT: a sum is accepted; the count is the number of rows
  MetricSums(Value sum_of_all, Value count_of_all) : sum(sum_of_all), count(count_of_all) {}

  Value sum;
  Value count;  ///< invalid Value: the count is the number of rows that the replica computes
};

/// A number or a table of numbers that training reports beside the loss. `sums` adds ops that compute the MetricSums of
/// a step from the outputs of a model and the fields of a batch.
struct Metric {
  std::string name;
  std::function<MetricSums(const Outputs& outputs, const Inputs& fields)> sums;

  /// Returns the metric under another name.
  Metric named(std::string other) const { return {std::move(other), sums}; }
};

// In the metrics below, an empty name of an output means the model's only output, and an empty name of a field means
// the last field.

/// The metric "accuracy": the fraction of labels, int32 [B, ...], whose class has the largest of the logits, float32
/// [B, ..., C]. Labels equal to `ignored` do not count.
Metric accuracy(const std::string& logits = {}, const std::string& labels = {},
                std::optional<std::int32_t> ignored = {});
/// The metric "top_K_accuracy", where K is the number `k`, as in "top_5_accuracy": the fraction of labels, int32 [B,
/// ...], whose class has one of the k largest logits, float32 [B, ..., C]. Labels equal to `ignored` do not count.
Metric top_k_accuracy(std::int64_t k, const std::string& logits = {}, const std::string& labels = {},
                      std::optional<std::int32_t> ignored = {});
/// The metrics "mean_squared_error" and "mean_absolute_error": the mean of (output - target)^2, or of |output -
/// target|, over all elements. Output and target are float32 [B, ...] of the same shape.
Metric mean_squared_error(const std::string& output = {}, const std::string& target = {});
Metric mean_absolute_error(const std::string& output = {}, const std::string& target = {});
/// The metric "confusion_matrix": a table float32 [C, C]. The entry at row i and column j is the fraction of all labels
/// that are i and for which class j has the largest logit. Labels are int32 [B, ...], logits float32 [B, ..., C].
/// Labels equal to `ignored` do not count.
Metric confusion_matrix(const std::string& logits = {}, const std::string& labels = {},
                        std::optional<std::int32_t> ignored = {});

}  // namespace troupe
