#include "troupe/strategies/training/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/text_stream.hpp"
#include "troupe/strategies/step/step_decision.hpp"
#include "troupe/transport/bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t kMetricNameLimit = 1'024;

void put_number(ByteWriter& writer, double number) {
  writer.put(std::bit_cast<std::uint64_t>(number));
}

double get_number(ByteReader& reader) {
  return std::bit_cast<double>(reader.get<std::uint64_t>());
}

void write_entry(ByteWriter& writer, const MetricValues::Entry& entry) {
  writer.put_text(entry.name, kMetricNameLimit);
  put_number(writer, entry.sum);
  put_number(writer, entry.count);
  const auto& table = entry.table;
  writer.put(static_cast<std::uint8_t>(table.numbers.empty() ? 0 : table.shape.rank()));
  for (std::size_t axis = 0; !table.numbers.empty() && axis < table.shape.rank(); ++axis) writer.put(table.shape[axis]);
  for (const auto number : table.numbers) put_number(writer, number);
}

MetricValues::Entry read_entry(ByteReader& reader) {
  MetricValues::Entry entry;
  entry.name = reader.get_text(kMetricNameLimit);
  entry.sum = get_number(reader);
  entry.count = get_number(reader);
  std::vector<std::int64_t> sizes(reader.get<std::uint8_t>());
  if (sizes.empty()) return entry;
  for (auto& size : sizes) size = reader.get<std::int64_t>();
  entry.table.shape = Shape(std::span<const std::int64_t>(sizes));
  for (std::int64_t i = 0; i < entry.table.shape.elements(); ++i) entry.table.numbers.push_back(get_number(reader));
  return entry;
}

/// A text on the weights by which a loss divides, if they may be the cause of a magnitude that is infinite.
std::string text_of_weights(const StepMetrics& step) {
  TextStream text;
  for (const auto& mean : step.loss_means.entries()) {
    text << "; the weights of its rows have the sum " << mean.count;
    if (mean.count < 0.0)
      text << ", and workers of servers divide by no negative sum";
    else
      text << ", and those of a batch may have " << kLargestAccumulatedRows << " if gradients are accumulated, else "
           << kLargestSum;
  }
  return text.str();
}

}  // namespace

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
  std::string names;
  for (const auto& entry : entries_) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "'" : ", '") + entry.name + "'";
  }
  throw Error("metrics", "there is no metric '" + name + "'" + (names.empty() ? "" : " among " + names));
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

bool StepMetrics::finite() const {
  return std::isfinite(loss) && magnitude <= kLargestSum;
}

std::string text_of_not_finite(const StepMetrics& step) {
  if (!std::isfinite(step.loss))
    return std::string("[loss] is not finite: ") + (std::isnan(step.loss) ? "nan" : "infinite");
  if (std::isnan(step.magnitude)) return "[gradient] is not finite: nan";
  return "[gradient] is infinite, or too large for the sum over the replicas" + text_of_weights(step);
}

double MetricValues::value_of(const Entry& entry) {
  return entry.count == 0.0 && std::isfinite(entry.sum) ? 0.0 : entry.sum / entry.count;
}

double MetricValues::total_loss() const {
  double sum = 0.0;
  for (const auto& entry : entries_) sum += entry.count == 0.0 ? entry.sum : entry.sum / entry.count;
  return sum;
}

void MetricsSum::add(const StepMetrics& step) {
  ++sum_.steps;
  // A step without rows and values stands for a report that was lost with its worker. It counts in `steps` alone.
  if (step.rows == 0 && step.values.entries().empty()) return;
  if (!step.finite()) {
    ++sum_.skipped_steps;
    return;
  }
  sum_.rows += step.rows;
  sum_.loss += step.loss * static_cast<double>(step.rows);
  sum_.values.add(step.values);
  if (!step.loss_means.entries().empty()) sum_.loss_means.add(step.loss_means);
}

Metrics MetricsSum::result() const {
  auto mean = sum_;
  if (mean.rows > 0) mean.loss /= static_cast<double>(mean.rows);
  if (!mean.loss_means.entries().empty()) mean.loss = mean.loss_means.total_loss();
  return mean;
}

void write(ByteWriter& writer, const MetricValues& values) {
  writer.put(static_cast<std::uint32_t>(values.entries().size()));
  for (const auto& entry : values.entries()) write_entry(writer, entry);
}

MetricValues read_values(ByteReader& reader) {
  MetricValues values;
  const auto entries = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < entries; ++i) values.mutable_entries().push_back(read_entry(reader));
  return values;
}

}  // namespace troupe
