// How a SpawnedPlan waits for the end of its runs, and what it says if they stall.

#include <caf/actor.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/spawn/spawned_plan_state.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kDescribeLimit{1};

}  // namespace

void SpawnedPlan::check_progress(std::chrono::milliseconds limit) {
  const auto stalled = state_->watch.stalled(limit);
  tell_busy();
  if (stalled && !done())
    give_up("[watchdog] " + busiest_process(limit) + "no progress of '" + *stalled + "' for " +
            std::to_string(limit.count()) + " ms:" + describe());
}

/// Tells the other processes the task that an actor of this process has been running for longest.
void SpawnedPlan::tell_busy() {
  if (!is_shared()) return;
  const auto running = state_->watch.longest_running();
  state_->cluster->cluster().busy().set_task(
      this, running ? std::optional(BusyRanks::Work{"'" + running->task + "'", running->since}) : std::nullopt);
}

void SpawnedPlan::call_back(const std::string& what, const std::function<void()>& callback) const {
  if (!is_shared()) return callback();
  const BusyScope busy(state_->cluster->cluster().busy(), what);
  callback();
}

void SpawnedPlan::await_others(std::chrono::milliseconds limit, const std::function<void()>& wait) const {
  if (!is_shared()) return wait();
  troupe::await_others(state_->cluster->cluster(), limit, wait);
}

/// Returns a text about the process that has been busy with one thing for longest, if that is at least half of `limit`,
/// which ends with `: `; else an empty text.
std::string SpawnedPlan::busiest_process(std::chrono::milliseconds limit) const {
  const auto text = is_shared() ? state_->cluster->cluster().busiest(limit / 2) : std::string();
  return text.empty() ? text : text + ": ";
}

/// For runtimes with a test seed: lets one actor handle mail. A random part, drawn from the seed of the first part's
/// runtime, is tried first. Returns false if no actor of any part has mail.
bool SpawnedPlan::run_one() {
  auto& parts = state_->parts;
  const auto first = parts.front()->runtime().draw(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[(first + i) % parts.size()]->runtime().run_one()) return true;
  return false;
}

void SpawnedPlan::run_all() {
  while (run_one()) {
  }
}

void SpawnedPlan::drive() {
  while (!done() && run_one()) {
  }
  if (!done()) give_up("[watchdog] no actor has anything to do:" + describe());
}

void SpawnedPlan::wait_for_end(const WaitOptions& options) {
  if (state_->under_test()) drive();
  std::optional<BusyScope> waiting;
  if (is_shared()) waiting.emplace(state_->cluster->cluster().busy(), std::nullopt);
  const std::string callback = kCallback;  // made once, so that the looks allocate nothing
  while (!state_->control->wait_for(options.interval)) {
    if (options.on_interval) call_back(callback, options.on_interval);
    check_progress(options.stall_limit);
  }
  done();
}

void SpawnedPlan::wait(const WaitOptions& options) {
  if (on_own_thread()) throw Error("run", "a thread of the runtime's actors cannot wait for them; use on_over() there");
  try {
    wait_for_end(options);
    if (options.on_interval) call_back(kCallback, options.on_interval);
  } catch (...) {
    // All sources end at the same step before the exception, such as that of on_interval, is passed on.
    stop_because_of(std::current_exception());
    wait_for_end({.stall_limit = options.stall_limit, .interval = options.interval, .on_interval = {}});
    throw;
  }
  if (const auto cause = failure()) throw Error("run", to_string(*cause));
}

std::string SpawnedPlan::describe() {
  const auto report = std::make_shared<StallReport>();
  for (const auto& part : state_->parts)
    for (const auto& actor : part->actors()) post<caf::message_priority::high>(actor, Describe{report});
  if (state_->under_test()) run_all();
  report->complete(state_->statuses(), kDescribeLimit);
  return report->text();
}

void SpawnedPlan::give_up(const std::string& reason) {
  state_->control->give_up(
      std::make_shared<Failure>(Failure{.actor = "watchdog", .kind = FailureKind::stalled, .what = reason}));
}

}  // namespace troupe
