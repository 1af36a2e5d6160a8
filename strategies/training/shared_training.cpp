#include "troupe/strategies/training/shared_training.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>
#include <span>

#include "troupe/actors/plan/held_together.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/between_processes.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/model_parameters.hpp"
#include "troupe/strategies/training/shared_values.hpp"
#include "troupe/strategies/training/torn_groups.hpp"
#include "troupe/strategies/training/training_run.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

namespace {

constexpr std::chrono::milliseconds kStatusLimit{20};
constexpr std::chrono::seconds kLateStatusLimit{1};

/// Waits up to kStatusLimit for a status message of rank 0. Returns nothing if none arrives, or if it has another kind.
std::optional<JobStatus> next_status(Cluster& cluster, JobStatus::Kind kind) {
  const auto bytes = cluster.hear(kStatusLimit);
  if (!bytes) return std::nullopt;
  auto status = JobStatus::decode(*bytes);
  return status.kind == kind ? std::optional(std::move(status)) : std::nullopt;
}

/// Returns the status of a fit that rank 0 has ended, if `failure` is that rank 0 has closed a link of the plan. Rank 0
/// announces the status before it closes the link, but the status arrives over another link: waits for it, at most
/// kLateStatusLimit. Returns nothing for another failure, or if no status arrives.
std::optional<JobStatus> status_behind_closed_link(Cluster& cluster, const Failure& failure) {
  if (failure.rank != 0 || !failure.cause || failure.cause->kind != FailureKind::aborted) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + kLateStatusLimit;
  while (std::chrono::steady_clock::now() < deadline)
    if (auto status = next_status(cluster, JobStatus::Kind::trained)) return status;
  return std::nullopt;
}

/// Lists the properties that the data of all processes must have in common even if each process has samples of its own.
std::string form_of(const Dataset& data) {
  std::string text = "batches of " + std::to_string(data.batch_rows()) + "\n";
  for (const auto& field : data.fields()) text += "field " + to_string(field) + "\n";
  return text;
}

/// Adds the last run that each other rank has recorded to the recording of rank 0.
void gather_recording(Communicator& group, Recording& recording, std::chrono::milliseconds limit) {
  for (int rank = 1; rank < group.size(); ++rank) {
    const auto run = rank == group.rank() ? recording.encode_last_run() : std::vector<std::byte>{};
    const auto bytes = broadcast_bytes(group, run, rank, limit);
    if (group.rank() == 0) recording.add({bytes.raw(), bytes.bytes()});
  }
}

}  // namespace

SharedTraining::SharedTraining(std::shared_ptr<Cluster> cluster, const Strategy& strategy, Stores stores,
                               std::chrono::milliseconds limit)
    : cluster_(std::move(cluster)), expendable_(strategy.expendable()), stores_(std::move(stores)), limit_(limit) {
  if (!has_others()) return;
  cluster_->set_expendable(expendable_);
  number_ = cluster_->next_generation();
  for (int process = 0; process < cluster_->size(); ++process)
    if (!expendable_.contains(process)) holder_ranks_.push_back(process);
}

bool SharedTraining::has_others() const {
  return cluster_ && cluster_->size() > 1;
}

void SharedTraining::await_others(const std::function<void()>& wait) const {
  has_others() ? troupe::await_others(*cluster_, limit_, wait) : wait();
}

bool SharedTraining::is_rank_zero() const {
  return !has_others() || cluster_->rank() == 0;
}

bool SharedTraining::is_expendable() const {
  return has_others() && std::ranges::find(holder_ranks_, cluster_->rank()) == holder_ranks_.end();
}

Stores SharedTraining::stores_by_process() const {
  if (!has_others()) return stores_;
  Stores stores(static_cast<std::size_t>(cluster_->size()));
  stores[static_cast<std::size_t>(cluster_->rank())] = stores_.front();
  return stores;
}

Communicator& SharedTraining::holders() {
  if (!holders_) {
    const auto rank = std::ranges::find(holder_ranks_, cluster_->rank()) - holder_ranks_.begin();
    const auto name = "values " + std::to_string(number_);
    holders_ = cluster_->communicator(name, holder_ranks_)[static_cast<std::size_t>(rank)];
  }
  return *holders_;
}

/// Returns the numbers of all holders, in the order of their ranks.
std::vector<std::int64_t> SharedTraining::gathered(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> all;
  await_others([&] { all = gathered_numbers(holders(), numbers, limit_); });
  return all;
}

Dataset SharedTraining::share(const Dataset& data) {
  if (!has_others()) return data;
  const bool own_samples = data.sharding() == DataSharding::file || data.sharding() == DataSharding::off;
  if (!expendable_.empty() && own_samples)
    throw Error("trainer", "where processes are expendable each of them needs all samples: sharding data or auto");
  auto& processes = holders();
  const auto sharing = "sharding " + to_string(own_samples ? data.sharding() : DataSharding::data) + "\n";
  auto text = sharing + (own_samples ? form_of(data) : data.content());
  cluster_->agree("data", hash_of_text(text), [&] { return text; });
  if (!own_samples) return data;
  return data.in_layout({gathered({data.rows()}), processes.rank()});
}

void SharedTraining::agree_on_values() {
  if (!has_others()) return synchronize(stores_);
  if (is_expendable()) return;
  await_others([this] { adopt_newest_values(holders(), holder_ranks_, *stores_.front(), limit_); });
}

void SharedTraining::add_missing_parameters(const Plan& plan) const {
  if (is_expendable() || (!has_others() && stores_.size() == 1)) return;
  // Actors of other processes or parts alone use some of the parameters.
  for (const auto& store : stores_) store->note_order(plan.parameters);
  add_missing(stores_, plan.parameters);
}

void SharedTraining::end_run(SpawnedPlan& trained, Recording* record) {
  if (!has_others()) {
    if (stores_.size() > 1) join_held_rows(stores_, trained.plan());
    return synchronize(stores_);
  }
  if (is_expendable()) return;
  await_others([&] {
    if (const auto failure = trained.failure())
      break_torn_groups(holders(), trained.failed_updates(), *stores_.front(), to_string(*failure), limit_);
    spread_held_values(holders(), holder_ranks_, trained.plan(), *stores_.front(), limit_);
    if (record != nullptr) gather_recording(holders(), *record, limit_);
  });
}

void SharedTraining::end_without_exchange(SpawnedPlan& trained) const {
  const auto has_no_update = [](const auto& group) { return group.second.numbers == std::set<std::int64_t>{0}; };
  const auto& failed = trained.failed_updates();
  if (is_expendable() || (!failed.empty() && std::ranges::all_of(failed, has_no_update))) return;
  const auto stores = stores_by_process();
  for (std::size_t process = 0; process < stores.size(); ++process)
    if (stores[process])
      stores[process]->break_copies(held_together(trained.plan(), static_cast<int>(process)),
                                    "the run has ended, but the processes have not exchanged their values");
}

std::string SharedTraining::first_error(const std::string& error) {
  if (!has_others()) return error;
  const auto failed = gathered({error.empty() ? 0 : 1});
  const auto first = static_cast<int>(std::ranges::find(failed, 1) - failed.begin());
  if (first == std::ssize(failed)) return {};
  Tensor text;
  await_others([&] { text = broadcast_bytes(holders(), std::as_bytes(std::span(error)), first, limit_); });
  return "[plan] the program of process " + std::to_string(holder_ranks_[static_cast<std::size_t>(first)]) +
         " has thrown: " + std::string(reinterpret_cast<const char*>(text.raw()), text.bytes());
}

std::int64_t SharedTraining::sum(std::int64_t number) {
  if (!has_others()) return number;
  const auto numbers = gathered({number});
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

/// Adds up the bytes of all holders as int32 words. Each byte is zero in all holders but at most one, so no sum
/// carries.
void SharedTraining::gather_rows(const Tensor& rows) {
  if (!has_others() || is_expendable()) return;
  const auto bytes = static_cast<std::int64_t>(rows.bytes());
  const Tensor words(Shape{(bytes + 3) / 4}, DType::int32);
  if (bytes > 0) std::memcpy(words.mutable_raw(), rows.raw(), rows.bytes());
  await_others([&] { holders().all_reduce(words)->wait(limit_); });
  if (bytes > 0) std::memcpy(rows.mutable_raw(), words.raw(), rows.bytes());
}

void SharedTraining::announce(const JobStatus& status) const {
  if (has_others() && is_rank_zero() && !expendable_.empty()) cluster_->announce(status.encode());
}

JobStatus SharedTraining::receive(JobStatus::Kind kind, const StopRequested& stop_requested) const {
  while (!stop_requested || !stop_requested())
    if (auto status = next_status(*cluster_, kind)) return std::move(*status);
  throw Error("trainer", "stopped before rank 0 had anything to do");
}

FitResult SharedTraining::take_part(SpawnedPlan& plan, MetricsLog& log, const StopRequested& stop_requested) const {
  const auto result_of = [](const JobStatus& status) {
    return FitResult{.steps = status.steps, .rows = status.rows, .seconds = status.seconds, .stopped = status.stopped};
  };
  while (true) {
    log.begin(0);
    plan.start({});
    do {
      if (const auto status = next_status(*cluster_, JobStatus::Kind::trained)) return result_of(*status);
      bool is_stopped = false;
      if (stop_requested) plan.call_back("stop_requested", [&] { is_stopped = stop_requested(); });
      if (is_stopped) return {.stopped = true};
      log.take();
      if (plan.has_begun()) plan.check_progress(limit_);
    } while (!plan.done());
    if (const auto failure = plan.failure()) {
      const auto status = status_behind_closed_link(*cluster_, *failure);
      if (!status) throw Error("run", to_string(*failure));
      return result_of(*status);
    }
    log.end_run();
  }
}

}  // namespace troupe
