#include "troupe/strategies/training/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void MetricValues::add(const MetricValues& other) {
  if (entries_.empty()) {
    entries_ = other.entries_;
    return;
  }
  if (!std::ranges::equal(entries_, other.entries_, {}, &Entry::name, &Entry::name))
    throw Error("metrics", "different metrics cannot be added");
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].sum += other.entries_[i].sum;
    entries_[i].count += other.entries_[i].count;
    auto& numbers = entries_[i].table.numbers;
    const auto& more = other.entries_[i].table.numbers;
    if (numbers.size() != more.size()) throw Error("metrics", "tables of different sizes cannot be added");
    std::ranges::transform(numbers, more, numbers.begin(), std::plus<>());
  }
}

const MetricValues::Entry& MetricValues::find(const std::string& name) const {
  std::string known;
  for (const auto& entry : entries_) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "'" : ", '") + entry.name + "'";
  }
  throw Error("metrics", "there is no metric '" + name + "'" + (known.empty() ? "" : " among " + known));
}

double MetricValues::operator[](const std::string& name) const {
  const auto& entry = find(name);
  if (!entry.table.numbers.empty()) throw Error("metrics", "'" + name + "' is a table, not a number");
  return value_of(entry);
}

const MetricTable& MetricValues::table(const std::string& name) const {
  const auto& entry = find(name);
  if (entry.table.numbers.empty()) throw Error("metrics", "'" + name + "' is a number, not a table");
  return entry.table;
}

void MetricsSum::add(const StepMetrics& step) {
  ++sum_.steps;
  // Its report was lost with a worker.
  if (step.rows == 0 && step.values.entries().empty()) return;
  if (!std::isfinite(step.loss)) {
    ++sum_.skipped_steps;
    return;
  }
  sum_.rows += step.rows;
  sum_.loss += step.loss * static_cast<double>(step.rows);
  sum_.values.add(step.values);
}

Metrics MetricsSum::result() const {
  auto mean = sum_;
  if (mean.rows > 0) mean.loss /= static_cast<double>(mean.rows);
  return mean;
}

}  // namespace troupe
