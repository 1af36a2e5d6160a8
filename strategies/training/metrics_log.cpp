#include "troupe/strategies/training/metrics_log.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/end_run.hpp"
#include "troupe/actors/run/function_task.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/batch_info.hpp"

namespace troupe {

namespace {

constexpr std::size_t kRows = 0;  // in place of the input that holds a count: the loss stands first

double number_of(const Tensor& scalar) {
  return scalar.dtype() == DType::int64 ? static_cast<double>(scalar.item<std::int64_t>())
                                        : static_cast<double>(scalar.item<float>());
}

/// The elements of a sum of any shape but a scalar's.
MetricTable table_of(const Tensor& sums) {
  MetricTable table{sums.shape(), std::vector<double>(static_cast<std::size_t>(sums.elements()))};
  const auto copy = [&](auto elements) { std::copy(elements.begin(), elements.end(), table.numbers.begin()); };
  if (sums.dtype() == DType::int64)
    copy(sums.data<std::int64_t>());
  else
    copy(sums.data<float>());
  return table;
}

MetricValues::Entry entry_of(const std::string& name, const Tensor& sum, double count) {
  if (sum.shape().rank() > 0) return {name, 0.0, count, table_of(sum)};
  return {name, number_of(sum), count};
}

/// The failure of the step number `index` if all replicas have reported it and a loss among them is not finite.
/// Whichever reports last finds it, so the first such step is the one that is named, whatever the schedule.
std::optional<Failure> non_finite_loss(const std::vector<std::deque<StepMetrics>>& per_replica, std::size_t index) {
  if (std::ranges::any_of(per_replica, [&](const auto& steps) { return steps.size() <= index; })) return std::nullopt;
  for (std::size_t replica = 0; replica < per_replica.size(); ++replica) {
    const auto& part = per_replica[replica][index];
    if (std::isfinite(part.loss)) continue;
    return Failure{.replica = static_cast<int>(replica),
                   .actor = "sink@" + std::to_string(replica),
                   .op = "loss",
                   .step = part.step,
                   .what = std::string("[loss] is not finite: ") + (std::isnan(part.loss) ? "nan" : "infinite")};
  }
  return std::nullopt;
}

}  // namespace

MetricsLog::MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields)
    : sink_inputs_{names::kLoss}, parts_(std::make_shared<Parts>(replicas)) {
  const auto graph = forward_graph(spec, fields);
  for (const auto& metric : spec.used_metrics()) {
    auto& column = columns_.emplace_back(Column{metric.name, sink_inputs_.size(), kRows});
    sink_inputs_.push_back(names::metric_sum(metric.name));
    if (!graph.has_output(names::metric_count(metric.name))) continue;
    column.count = sink_inputs_.size();
    sink_inputs_.push_back(names::metric_count(metric.name));
  }
}

StepMetrics MetricsLog::read(const std::vector<Column>& columns, const Firing& firing) {
  std::size_t wanted = 2;  // the loss and the batch info
  for (const auto& column : columns) wanted += column.count == kRows ? 1 : 2;
  if (firing.inputs.size() != wanted)
    throw Error("metrics", "the strategy gives the sink " + std::to_string(firing.inputs.size()) + " inputs, not " +
                               std::to_string(wanted) +
                               ": the outputs in PlanRequest::sink_inputs, then the batch info");
  const auto rows = BatchInfo::read(firing.inputs.back()).rows;
  std::vector<MetricValues::Entry> entries;
  for (const auto& column : columns)
    entries.push_back(
        entry_of(column.name, firing.inputs[column.sum],
                 column.count == kRows ? static_cast<double>(rows) : number_of(firing.inputs[column.count])));
  return {firing.step, number_of(firing.inputs[0]), rows, std::move(entries)};
}

TaskFactory MetricsLog::sink(NonFiniteLoss on_non_finite_loss) const {
  const bool stop = on_non_finite_loss == NonFiniteLoss::stop;
  return [parts = parts_, columns = columns_, stop](const PlanActor& actor, SpawnContext&) {
    if (actor.replica < 0 || actor.replica >= static_cast<int>(parts->per_replica.size()))
      throw Error("metrics", "'" + actor.name + "' belongs to replica " + std::to_string(actor.replica) +
                                 ", but the strategy has " + std::to_string(parts->per_replica.size()));
    return std::make_unique<FunctionTask>([parts, columns, stop, replica = actor.replica](const Firing& firing) {
      auto part = read(columns, firing);
      std::lock_guard lock(parts->mutex);
      auto& steps = parts->per_replica[replica];
      steps.push_back(std::move(part));
      if (!stop || parts->ended) return;
      const auto failure = non_finite_loss(parts->per_replica, steps.size() - 1);
      parts->ended = failure.has_value();
      if (failure) throw EndRun(*failure);
    });
  };
}

std::vector<StepMetrics> MetricsLog::take() {
  std::lock_guard lock(parts_->mutex);
  auto& per_replica = parts_->per_replica;
  std::vector<StepMetrics> steps;
  while (std::none_of(per_replica.begin(), per_replica.end(), [](const auto& queue) { return queue.empty(); })) {
    StepMetrics whole{per_replica[0].front().step};
    for (auto& queue : per_replica) {
      whole.loss += queue.front().loss;
      whole.rows += queue.front().rows;
      whole.values.add(queue.front().values);
      queue.pop_front();
    }
    steps.push_back(std::move(whole));
  }
  return steps;
}

}  // namespace troupe
