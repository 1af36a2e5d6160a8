#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/ops/core/shape.hpp"

namespace troupe {

class ByteReader;
class ByteWriter;

/// A table of numbers in row-major order.
struct MetricTable {
  Shape shape;
  std::vector<double> numbers;
};

/// Sums and counts of metrics by name. The value of a metric is sum / count.
class MetricValues {
 public:
  struct Entry {
    std::string name;
    double sum = 0.0;
    double count = 0.0;
    /// The sums of a metric that is a table; `sum` is not used then. For any other metric it has no numbers.
    MetricTable table = {};
  };
  MetricValues() = default;
  MetricValues(std::vector<Entry> entries) : entries_(std::move(entries)) {}  // NOLINT: implicit by intent

  /// Adds the sums and counts of the same metrics, or copies them if this object has no metrics. Throws Error if the
  /// names or the sizes of tables differ.
  void add(const MetricValues& other);
  /// Returns the value of a metric, as value_of(). Throws Error if the metric is a table. If there is no metric of that
  /// name, throws Error that lists the metrics.
  double operator[](const std::string& name) const;
  /// Returns the sums of a metric that is a table, not divided by the count. Throws Error if the metric is no table or
  /// there is no metric of that name.
  const MetricTable& table(const std::string& name) const;
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& mutable_entries() { return entries_; }

  /// Returns sum / count; 0 if the count is 0 and the sum is finite; a NaN if one of them is.
  static double value_of(const Entry& entry);
  /// Returns the sum of the means of a loss, none of which may be a table. A mean whose weights have the sum 0 divides
  /// by 1, as divisor_of() in step_decision.hpp.
  double total_loss() const;

 private:
  const Entry& find(const std::string& name) const;

  std::vector<Entry> entries_;
};

/// The metrics of one step (a batch) over all replicas.
struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0.0;  ///< the mean over `rows`, or the loss that divides by weights
  /// Rows of the batch. If replicas decide for themselves whether to apply their part of a step, see
  /// Strategy::decides_by_replica(): the rows of the replicas that have applied theirs.
  std::int64_t rows = 0;
  std::int64_t batch_rows = 0;  ///< rows of the whole batch; 0 if no replica has reported the step
  MetricValues values = {};
  /// Sum and weight of each mean (LossMean) of a loss that divides by weights; the loss is the sum of their values.
  MetricValues loss_means = {};
  /// The sum over the replicas of names::kMagnitude, which tells whether gradients are finite and no more; 0 in an
  /// evaluation.
  float magnitude = 0.0F;
  /// The worker of asynchronous servers that got the batch of the step, if no worker has reported the step; else -1.
  int missing_worker = -1;

  /// True if the losses and gradients of the step are finite, so that the step changes parameters.
  bool finite() const;
};

/// Returns a text that says what of a step is not finite. The step must not be finite.
std::string text_of_not_finite(const StepMetrics& step);

/// Means over the rows of many steps. A loss that divides by weights divides by those of all steps.
struct Metrics {
  std::int64_t steps = 0;
  /// Steps whose loss or gradients were not finite. They count in `steps`, but not in rows, loss and values.
  std::int64_t skipped_steps = 0;
  std::int64_t rows = 0;
  double loss = 0.0;
  MetricValues values = {};
  MetricValues loss_means = {};  ///< see StepMetrics::loss_means

  /// Returns the value of a metric, such as "accuracy".
  double operator[](const std::string& name) const { return values[name]; }
  /// Returns the sums of a metric that is a table, such as "confusion_matrix".
  const MetricTable& table(const std::string& name) const { return values.table(name); }
};

/// Combines the metrics of steps: result() returns their means over all rows added so far.
class MetricsSum {
 public:
  void add(const StepMetrics& step);
  Metrics result() const;

 private:
  Metrics sum_;
};

/// The effect on a fit of a step whose loss or gradients are not finite. The step changes no parameter. With `stop` the
/// fit ends with an Error that names step and replica; with `skip` the fit continues.
enum class NonFiniteLoss { stop, skip };

/// The effect on a fit of a sample that cannot be used, such as a label that is no class, or a record that a function
/// of the data set cannot read. The batch of the sample changes no parameter. With `stop` the fit ends with
/// InvalidSample, and the next fit begins after the batch; with `skip` the fit continues after the batch.
enum class InvalidSamples { stop, skip };

/// Encodes metric values.
void write(ByteWriter& writer, const MetricValues& values);
/// Decodes metric values. Throws Error if the bytes end too early.
MetricValues read_values(ByteReader& reader);

}  // namespace troupe
