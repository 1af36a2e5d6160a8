#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/ops/core/shape.hpp"

namespace troupe {

/// A table of numbers, row by row.
struct MetricTable {
  Shape shape;
  std::vector<double> numbers;
};

/// Sums and counts of metrics by name; the value of each is sum / count.
class MetricValues {
 public:
  struct Entry {
    std::string name;
    double sum = 0.0;
    double count = 0.0;
    /// The sums of a metric that is a table; else without numbers.
    MetricTable table = {};
  };
  MetricValues() = default;
  MetricValues(std::vector<Entry> entries) : entries_(std::move(entries)) {}  // NOLINT: a list of entries is that

  /// Adds sums and counts of the same metrics. Throws Error if their names differ.
  void add(const MetricValues& other);
  /// The value of a metric; 0 if nothing was counted. Throws Error that lists the metrics if there is none of
  /// that name, and if it is a table.
  double operator[](const std::string& name) const;
  /// A metric that is a table: its sums, not divided by the count. Throws Error if it is none.
  const MetricTable& table(const std::string& name) const;
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& mutable_entries() { return entries_; }

  static double value_of(const Entry& entry) { return entry.count > 0.0 ? entry.sum / entry.count : 0.0; }

 private:
  const Entry& find(const std::string& name) const;

  std::vector<Entry> entries_;
};

/// One step (a batch) as all replicas together saw it.
struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0.0;  ///< mean over the rows of the batch
  std::int64_t rows = 0;
  MetricValues values = {};
};

/// Means over many steps.
struct Metrics {
  std::int64_t steps = 0;
  /// Steps whose loss was not finite; they count in `steps`, but in nothing below.
  std::int64_t skipped_steps = 0;
  std::int64_t rows = 0;
  double loss = 0.0;
  MetricValues values = {};

  /// A metric by name, such as "accuracy".
  double operator[](const std::string& name) const { return values[name]; }
  /// One that is a table, such as "confusion_matrix": its sums.
  const MetricTable& table(const std::string& name) const { return values.table(name); }
};

/// Adds up steps.
class MetricsSum {
 public:
  void add(const StepMetrics& step);
  Metrics result() const;

 private:
  Metrics sum_;
};

/// What a step whose loss is not finite, which has changed no parameter, does to a run: end it with an Error that names
/// step and replica, or nothing.
enum class NonFiniteLoss { stop, skip };

}  // namespace troupe
