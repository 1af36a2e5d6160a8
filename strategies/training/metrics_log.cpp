#include "troupe/strategies/training/metrics_log.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "troupe/actors/messages/end_run.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// The value of Column::count for a metric whose count is the number of rows. Input 0 of a sink is the loss, so no count
// has this index.
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

Failure not_finite(const StepMetrics& part, std::size_t replica) {
  return {.replica = static_cast<int>(replica),
          .actor = "sink@" + std::to_string(replica),
          .op = "loss",
          .step = part.step,
          .what = std::string("[loss] is not finite: ") + (std::isnan(part.loss) ? "nan" : "infinite")};
}

/// Returns a failure if all replicas of this process have reported the step at `index` in their queues and the loss of
/// one is not finite. It names the first such replica. The sink that reports last finds the failure, so the schedule
/// does not affect which step and replica are named.
std::optional<Failure> non_finite_loss(const std::vector<StepQueue>& per_replica, const std::vector<bool>& here,
                                       std::size_t index) {
  std::optional<Failure> failure;
  for (std::size_t replica = 0; replica < per_replica.size(); ++replica) {
    if (!here[replica]) continue;
    if (per_replica[replica].size() <= index) return std::nullopt;
    const auto& part = per_replica[replica][index];
    if (!failure && !std::isfinite(part.loss)) failure = not_finite(part, replica);
  }
  return failure;
}

}  // namespace

MetricsLog::MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields, bool shared_steps,
                       std::vector<int> reporting)
    : sink_inputs_{names::kLoss} {
  if (reporting.empty()) {
    reporting.resize(static_cast<std::size_t>(replicas));
    std::iota(reporting.begin(), reporting.end(), 0);
  }
  for (const auto replica : reporting)
    if (replica < 0 || replica >= replicas)
      throw Error("strategy", "replica " + std::to_string(replica) + " cannot report: there are " +
                                  std::to_string(replicas) + " (Strategy::reporting_replicas)");
  parts_ = std::make_shared<Parts>(replicas, std::move(reporting));
  for (int replica = 0; replica < replicas; ++replica)
    parts_->here[static_cast<std::size_t>(replica)] = parts_->reports(replica);
  parts_->shared_steps = shared_steps;
  const auto graph = forward_graph(spec, fields);
  for (const auto& metric : spec.used_metrics()) {
    auto& column = columns_.emplace_back(Column{metric.name, sink_inputs_.size(), kRows});
    sink_inputs_.push_back(names::metric_sum(metric.name));
    if (!graph.has_output(names::metric_count(metric.name))) continue;
    column.count = sink_inputs_.size();
    sink_inputs_.push_back(names::metric_count(metric.name));
  }
}

/// Rank 0 adds up the staleness counted in all processes, and sends the sum to the others.
Staleness MetricsLog::staleness() const {
  if (exchange_ && !exchange_->is_rank_zero()) return exchange_->staleness();
  auto sum = shard_log_->staleness();
  if (exchange_) sum.add(exchange_->staleness());
  return sum;
}

void MetricsLog::begin(std::int64_t first_step) {
  order_.begin(first_step);
  ended_ = complete_ = false;
  if (exchange_) exchange_->begin();
}

void MetricsLog::read(const std::vector<Column>& columns, const Firing& firing, StepMetrics& part) {
  std::size_t inputs = 2;  // the loss and the batch info
  for (const auto& column : columns) inputs += column.count == kRows ? 1 : 2;
  if (firing.inputs.size() != inputs)
    throw Error("metrics", "the strategy gives the sink " + std::to_string(firing.inputs.size()) + " inputs, not " +
                               std::to_string(inputs) +
                               ": the outputs in PlanRequest::sink_inputs, then the batch info");
  const auto batch = BatchInfo::read(firing.inputs.back());
  part.step = batch.step;
  part.loss = number_of(firing.inputs[0]);
  part.rows = batch.rows;
  auto& entries = part.values.mutable_entries();
  entries.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& column = columns[i];
    const auto& sum = firing.inputs[column.sum];
    entries[i].name = column.name;
    entries[i].count = column.count == kRows ? static_cast<double>(part.rows) : number_of(firing.inputs[column.count]);
    if (sum.shape().rank() > 0)
      copy_table(sum, entries[i].table);
    else
      entries[i].sum = number_of(sum);
  }
}

TaskFactory MetricsLog::sink(NonFiniteLoss on_non_finite_loss) const {
  const bool stop = on_non_finite_loss == NonFiniteLoss::stop;
  return [parts = parts_, columns = columns_, stop](const PlanActor& actor, SpawnContext&) {
    if (!parts->reports(actor.replica))
      throw Error("metrics", "'" + actor.name + "' belongs to replica " + std::to_string(actor.replica) +
                                 ", which does not report (Strategy::reporting_replicas)");
    return std::make_unique<FunctionTask>(
        [parts, columns, stop, replica = actor.replica, part = StepMetrics()](const Firing& firing) mutable {
          read(columns, firing, part);
          std::lock_guard lock(parts->mutex);
          auto& steps = parts->per_replica[replica];
          std::optional<Failure> failure;
          if (!std::isfinite(part.loss)) failure = not_finite(part, static_cast<std::size_t>(replica));
          steps.push(part);
          if (!stop || parts->ended) return;
          if (parts->shared_steps) failure = non_finite_loss(parts->per_replica, parts->here, steps.size() - 1);
          parts->ended = failure.has_value();
          if (failure) throw EndRun(*failure);
        });
  };
}

void MetricsLog::exchange_with(std::unique_ptr<MetricsExchange> exchange, std::vector<bool> here) {
  exchange_ = std::move(exchange);
  std::lock_guard lock(parts_->mutex);
  for (std::size_t replica = 0; replica < here.size(); ++replica)
    parts_->here[replica] = here[replica] && parts_->reports(static_cast<int>(replica));
}

void MetricsLog::end_run(std::vector<int> absent) {
  ended_ = true;
  absent_ = std::move(absent);
  if (!exchange_ || exchange_->is_rank_zero()) return;
  exchange_->send(pop_local());
  exchange_->send_end(shard_log_->staleness());
}

std::span<const StepMetrics> MetricsLog::take(std::chrono::milliseconds limit) {
  if (exchange_ && !exchange_->is_rank_zero()) return take_from_rank_zero(limit);
  if (exchange_) keep(exchange_->receive(limit));
  const bool last = ended_ && (!exchange_ || exchange_->all_ended(absent_));
  const auto count = parts_->shared_steps ? take_from_all() : take_in_order(last);
  const std::span<const StepMetrics> taken(taken_.data(), count);
  const bool completes = last && !std::exchange(complete_, true);
  if (!exchange_) return taken;
  std::vector<ReplicaReport> reports;
  for (const auto& step : taken) reports.push_back({0, step});
  exchange_->send(reports);
  if (completes) exchange_->send_end(staleness());
  return taken;
}

std::span<const StepMetrics> MetricsLog::take_from_rank_zero(std::chrono::milliseconds limit) {
  if (!ended_) exchange_->send(pop_local());
  taken_.clear();
  for (auto& report : exchange_->receive(limit)) taken_.push_back(std::move(report.metrics));
  complete_ = ended_ && exchange_->all_ended(absent_);
  return taken_;
}

/// Queues reports of replicas in other processes. Throws Error if there is no such replica, or it is in this process.
void MetricsLog::keep(std::vector<ReplicaReport> reports) {
  std::lock_guard lock(parts_->mutex);
  for (auto& report : reports) {
    if (!parts_->reports(report.replica) || parts_->here[static_cast<std::size_t>(report.replica)])
      throw Error("metrics", "another process reports for replica " + std::to_string(report.replica));
    parts_->per_replica[report.replica].push(report.metrics);
  }
}

/// Removes and returns the reports of the steps that all replicas of this process have reported; if replicas do not
/// share steps, all reports of these replicas.
std::vector<ReplicaReport> MetricsLog::pop_local() {
  std::lock_guard lock(parts_->mutex);
  auto& per_replica = parts_->per_replica;
  std::size_t count = std::numeric_limits<std::size_t>::max();
  for (std::size_t replica = 0; replica < per_replica.size(); ++replica)
    if (parts_->here[replica]) count = std::min(count, per_replica[replica].size());
  std::vector<ReplicaReport> reports;
  for (std::size_t replica = 0; replica < per_replica.size(); ++replica) {
    if (!parts_->here[replica]) continue;
    auto& queue = per_replica[replica];
    for (auto left = parts_->shared_steps ? count : queue.size(); left > 0; --left) {
      reports.push_back({static_cast<int>(replica), queue[0]});
      queue.pop();
    }
  }
  return reports;
}

/// Combines the reports of each step that all replicas have reported, and writes the steps to the first elements of
/// taken_. Returns the number of these steps.
std::size_t MetricsLog::take_from_all() {
  std::lock_guard lock(parts_->mutex);
  auto& per_replica = parts_->per_replica;
  const auto& reporting = parts_->reporting;
  auto& first = per_replica[static_cast<std::size_t>(reporting.front())];
  auto count = first.size();
  for (const auto replica : reporting) count = std::min(count, per_replica[static_cast<std::size_t>(replica)].size());
  if (taken_.size() < count) taken_.resize(std::max({StepQueue::kSteps, count, 2 * taken_.size()}), first[0]);
  for (std::size_t i = 0; i < count; ++i) {
    auto& whole = taken_[i];
    whole.step = first[0].step;
    whole.loss = 0.0;
    whole.rows = 0;
    for (const auto replica : reporting) add_part(whole, replica, per_replica[static_cast<std::size_t>(replica)]);
  }
  return count;
}

/// Adds to a step the oldest report of a replica, and removes the report. Throws Error if it is of another step.
void MetricsLog::add_part(StepMetrics& whole, int replica, StepQueue& reports) const {
  const auto& part = reports[0];
  if (part.step != whole.step)
    throw Error("metrics", "replica " + std::to_string(replica) + " reports step " + std::to_string(part.step) +
                               " where replica " + std::to_string(parts_->reporting.front()) + " reports step " +
                               std::to_string(whole.step));
  whole.loss += part.loss;
  whole.rows += part.rows;
  if (replica == parts_->reporting.front())
    whole.values = part.values;
  else
    whole.values.add(part.values);
  reports.pop();
}

std::string MetricsLog::missing() const {
  if (exchange_ && !complete_) return exchange_->missing(absent_);
  std::lock_guard lock(parts_->mutex);
  if (!parts_->shared_steps) return order_.missing();
  const auto queue_of = [&](int replica) -> auto& {
    return parts_->per_replica[static_cast<std::size_t>(replica)];
  };
  const auto has_more = [&](int replica) { return queue_of(replica).size() > 0; };
  const auto ahead = std::ranges::find_if(parts_->reporting, has_more);
  if (ahead == parts_->reporting.end()) return {};
  const auto behind = std::ranges::find_if_not(parts_->reporting, has_more);
  return "replica " + std::to_string(*behind) + " has not reported step " + std::to_string(queue_of(*ahead)[0].step) +
         ", which replica " + std::to_string(*ahead) + " has";
}

/// Moves the steps of all replicas to taken_ in order, up to the first step that is missing. Returns the number of
/// moved steps. If `last` is true, the run is over in all processes, so a missing step is replaced by a step without
/// rows.
std::size_t MetricsLog::take_in_order(bool last) {
  std::lock_guard lock(parts_->mutex);
  for (auto& queue : parts_->per_replica)
    for (; queue.size() > 0; queue.pop()) order_.add(queue[0]);
  if (last) order_.end(shard_log_->end_step());
  taken_ = order_.take();
  return taken_.size();
}

}  // namespace troupe
