#include "troupe/strategies/training/metrics_log.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "troupe/actors/messages/end_run.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/whole_step.hpp"

namespace troupe {

namespace {

/// The op in a failure whose cause is a gradient.
constexpr const char* kGradient = "gradient";

Failure not_finite(const StepMetrics& part, std::size_t replica) {
  return {.replica = static_cast<int>(replica),
          .actor = "sink@" + std::to_string(replica),
          .op = std::isfinite(part.loss) ? kGradient : "loss",
          .step = part.step,
          .what = text_of_not_finite(part)};
}

/// Returns a failure if all replicas of this process have reported the step at `index` in their queues and the loss or
/// a gradient of one is not finite. It names the first replica whose loss is not finite, or if there is none the first
/// with such a gradient. The sink that reports last finds the failure, so the schedule does not affect which step and
/// replica are named.
std::optional<Failure> non_finite_step(const std::vector<StepQueue>& per_replica, const std::vector<bool>& here,
                                       std::size_t index) {
  std::optional<Failure> failure;
  for (std::size_t replica = 0; replica < per_replica.size(); ++replica) {
    if (!here[replica]) continue;
    if (per_replica[replica].size() <= index) return std::nullopt;
    const auto& part = per_replica[replica][index];
    const bool is_first = !failure || (failure->op == kGradient && !std::isfinite(part.loss));
    if (!part.finite() && is_first) failure = not_finite(part, replica);
  }
  return failure;
}

/// Throws Error unless every number is one of `replicas` replicas, and each is there once.
void expect_replicas(std::span<const int> reporting, int replicas) {
  std::set<int> known;
  for (const auto replica : reporting) {
    const auto text = "replica " + std::to_string(replica);
    if (replica < 0 || replica >= replicas)
      throw Error("strategy",
                  text + " cannot report: there are " + std::to_string(replicas) + " (Strategy::reporting_replicas)");
    if (!known.insert(replica).second) throw Error("strategy", text + " reports twice (Strategy::reporting_replicas)");
  }
}

}  // namespace

MetricsLog::MetricsLog(int replicas, const TrainingSpec& spec, const std::vector<Field>& fields, const ReportForm& form)
    : sink_inputs_(spec, fields, form.magnitude) {
  auto reporting = form.reporting;
  if (reporting.empty()) {
    reporting.resize(static_cast<std::size_t>(replicas));
    std::iota(reporting.begin(), reporting.end(), 0);
  }
  expect_replicas(reporting, replicas);
  parts_ = std::make_shared<Parts>(replicas, std::move(reporting));
  for (int replica = 0; replica < replicas; ++replica)
    parts_->here[static_cast<std::size_t>(replica)] = parts_->reports(replica);
  parts_->form = form;
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
  ended_ = complete_ = has_left_out_ = false;
  if (exchange_) exchange_->begin();
}

TaskFactory MetricsLog::sink(NonFiniteLoss on_non_finite_loss) const {
  const bool stop = on_non_finite_loss == NonFiniteLoss::stop;
  return [parts = parts_, inputs = sink_inputs_, stop](const PlanActor& actor, SpawnContext&) {
    if (!parts->reports(actor.replica))
      throw Error("metrics", "'" + actor.name + "' belongs to replica " + std::to_string(actor.replica) +
                                 ", which does not report (Strategy::reporting_replicas)");
    return std::make_unique<FunctionTask>(
        [parts, inputs, stop, replica = actor.replica, part = StepMetrics()](const Firing& firing) mutable {
          inputs.read(firing, part);
          std::lock_guard lock(parts->mutex);
          auto& steps = parts->per_replica[replica];
          std::optional<Failure> failure;
          if (!part.finite()) failure = not_finite(part, static_cast<std::size_t>(replica));
          steps.push(part);
          if (!stop || parts->ended) return;
          if (parts->form.shared_steps) failure = non_finite_step(parts->per_replica, parts->here, steps.size() - 1);
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

void MetricsLog::end_run(std::vector<int> absent, bool failed) {
  ended_ = true;
  has_left_out_ = failed && parts_->form.by_replica && parts_->form.shared_steps;
  absent_ = std::move(absent);
  if (!exchange_ || exchange_->is_rank_zero()) return;
  exchange_->send(pop_local());
  exchange_->send_end(shard_log_->staleness());
}

std::span<const StepMetrics> MetricsLog::take(std::chrono::milliseconds limit) {
  if (exchange_ && !exchange_->is_rank_zero()) return take_from_rank_zero(limit);
  if (exchange_) keep(exchange_->receive(limit));
  const bool last = ended_ && (!exchange_ || exchange_->all_ended(absent_));
  if (last && has_left_out_) add_left_out();
  const auto count = parts_->form.shared_steps ? take_from_all() : take_in_order(last);
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
/// share steps or may have left out their parts, all reports of these replicas.
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
    for (auto left = parts_->form.shared_steps && !has_left_out_ ? count : queue.size(); left > 0; --left) {
      reports.push_back({static_cast<int>(replica), queue[0]});
      queue.pop();
    }
  }
  return reports;
}

/// Adds a report without rows for each step that a replica has not reported, but another one has. A replica that has
/// failed reports no later step, so these are the last steps.
void MetricsLog::add_left_out() {
  std::lock_guard lock(parts_->mutex);
  std::size_t most = 0;
  std::int64_t first_step = 0;
  for (const auto& queue : parts_->per_replica) {
    most = std::max(most, queue.size());
    if (queue.size() > 0) first_step = queue[0].step;
  }
  for (const auto replica : parts_->reporting) {
    auto& queue = parts_->per_replica[static_cast<std::size_t>(replica)];
    while (queue.size() < most) {
      StepMetrics left_out{.step = first_step + static_cast<std::int64_t>(queue.size())};
      queue.push(left_out);
    }
  }
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
  for (std::size_t i = 0; i < count; ++i) combine_parts(per_replica, reporting, parts_->form.by_replica, taken_[i]);
  return count;
}

std::string MetricsLog::missing() const {
  if (exchange_ && !complete_) return exchange_->missing(absent_);
  std::lock_guard lock(parts_->mutex);
  if (!parts_->form.shared_steps) return order_.missing();
  const auto queue_of = [&](int replica) -> auto& {
    return parts_->per_replica[static_cast<std::size_t>(replica)];
  };
  // On another rank than 0 the reports of other processes arrive as whole steps.
  auto reporting = parts_->reporting;
  if (exchange_ && !exchange_->is_rank_zero())
    std::erase_if(reporting, [&](int replica) { return !parts_->here[static_cast<std::size_t>(replica)]; });
  const auto has_more = [&](int replica) { return queue_of(replica).size() > 0; };
  const auto ahead = std::ranges::find_if(reporting, has_more);
  const auto behind = std::ranges::find_if_not(reporting, has_more);
  if (ahead == reporting.end() || behind == reporting.end()) return {};
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
  for (auto& step : taken_) {
    if (step.rows == 0) step.missing_worker = shard_log_->worker_of(step.step);
    divide_by_weights(step);
  }
  if (!taken_.empty()) shard_log_->forget_workers(taken_.back().step + 1);
  return taken_.size();
}

}  // namespace troupe
