#include "troupe/strategies/training/sink_inputs.hpp"

#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// The value of Column::count for a metric whose count is the number of rows. Input 0 is the loss, so no count has this
// index.
constexpr std::size_t kRows = 0;

double number_of(const Tensor& scalar) {
  return scalar.dtype() == DType::int64 ? static_cast<double>(scalar.item<std::int64_t>())
                                        : static_cast<double>(scalar.item<float>());
}

/// Copies the sums of a metric that is a table, a tensor with at least one axis, to `table`.
void copy_table(const Tensor& sums, MetricTable& table) {
  table.shape = sums.shape();
  table.numbers.resize(static_cast<std::size_t>(sums.elements()));
  const auto copy = [&](auto elements) { std::copy(elements.begin(), elements.end(), table.numbers.begin()); };
  if (sums.dtype() == DType::int64)
    copy(sums.data<std::int64_t>());
  else
    copy(sums.data<float>());
}

}  // namespace

SinkInputs::SinkInputs(const TrainingSpec& spec, const std::vector<Field>& fields, bool magnitude)
    : names_{names::kLoss}, magnitude_(magnitude) {
  const auto graph = forward_graph(spec, fields);
  for (const auto& metric : spec.used_metrics())
    add_column(values_, graph, metric.name, names::metric_sum(metric.name), names::metric_count(metric.name));
  for (std::size_t mean = 0; graph.has_output(names::loss_sum(mean)); ++mean)
    add_column(loss_means_, graph, std::to_string(mean), names::loss_sum(mean), names::loss_weight(mean));
  if (magnitude) names_.emplace_back(names::kMagnitude);
}

void SinkInputs::add_column(std::vector<Column>& columns, const Graph& graph, const std::string& name,
                            const std::string& sum, const std::string& count) {
  auto& column = columns.emplace_back(Column{name, names_.size(), kRows});
  names_.push_back(sum);
  if (!graph.has_output(count)) return;
  column.count = names_.size();
  names_.push_back(count);
}

void SinkInputs::read(const Firing& firing, StepMetrics& part) const {
  const auto inputs = names_.size() + 1;
  if (firing.inputs.size() != inputs)
    throw Error("metrics", "the strategy gives the sink " + std::to_string(firing.inputs.size()) + " inputs, not " +
                               std::to_string(inputs) +
                               ": the outputs in PlanRequest::sink_inputs, then the batch info");
  const auto batch = BatchInfo::read(firing.inputs.back());
  part.step = batch.step;
  part.loss = number_of(firing.inputs[0]);
  part.rows = batch.rows;
  part.batch_rows = batch.global_rows;
  part.magnitude = magnitude_ ? firing.inputs[inputs - 2].item<float>() : 0.0F;
  read(values_, firing, part.values, part.rows);
  read(loss_means_, firing, part.loss_means, part.rows);
}

void SinkInputs::read(const std::vector<Column>& columns, const Firing& firing, MetricValues& values,
                      std::int64_t rows) {
  auto& entries = values.mutable_entries();
  entries.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& column = columns[i];
    const auto& sum = firing.inputs[column.sum];
    entries[i].name = column.name;
    entries[i].count = column.count == kRows ? static_cast<double>(rows) : number_of(firing.inputs[column.count]);
    if (sum.shape().rank() > 0)
      copy_table(sum, entries[i].table);
    else
      entries[i].sum = number_of(sum);
  }
}

}  // namespace troupe
