#include "troupe/actors/spawn/spawned_plan.hpp"

#include <algorithm>
#include <atomic>
#include <caf/actor.hpp>
#include <set>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/control/progress_watch.hpp"
#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/actors/spawn/connections.hpp"
#include "troupe/actors/spawn/plan_part.hpp"
#include "troupe/actors/spawn/run_leases.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kDescribeLimit{1};
constexpr std::chrono::seconds kStopLimit{10};

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> generations{0};
  return ++generations;
}

FailurePtr failure_of_program(int process, const std::exception_ptr& error) {
  const auto text = "[plan] the program of process " + std::to_string(process) + " has thrown: " + text_of(error);
  return std::make_shared<const Failure>(Failure{.rank = process, .what = text});
}

}  // namespace

struct SpawnedPlan::State : SpawnedTogether {
  /// The same object as `control` if the plan was spawned without a cluster, else null.
  std::shared_ptr<RunCoordinator> coordinator;
  std::set<int> lost;
  /// The connections to the other processes; null without a cluster.
  std::unique_ptr<ClusterRun> cluster;
  std::vector<std::unique_ptr<PlanPart>> parts;
  RunLeases leases;
  /// Set if a run that has succeeded has not kept the copies equal that the strategy says are equal.
  FailurePtr unequal_copies;
  ProgressWatch watch;

  bool under_test() const { return parts.front()->runtime().options().test_seed.has_value(); }

  std::vector<const ExecutorStatus*> statuses() const {
    std::vector<const ExecutorStatus*> statuses;
    for (const auto& part : parts)
      for (const auto& status : part->statuses()) statuses.push_back(status.get());
    return statuses;
  }
};

SpawnedPlan::SpawnedPlan(const Runtime& runtime, CheckedPlan plan, SpawnContext context, std::shared_ptr<Trace> trace)
    : SpawnedPlan(std::vector(1, PartSetup{runtime, std::move(context)}), std::move(plan), std::move(trace)) {}

SpawnedPlan::SpawnedPlan(std::vector<PartSetup> parts, CheckedPlan plan, std::shared_ptr<Trace> trace)
    : state_(new State{{std::move(plan), nullptr, 0, std::move(trace)}}) {
  const DefaultFloatMode mode;
  const auto processes = state_->plan->processes();
  if (processes > static_cast<int>(parts.size()))
    throw Error("plan", "has parts for " + std::to_string(processes) + " processes, but only " +
                            std::to_string(parts.size()) + " are given");
  state_->control = state_->coordinator = std::make_shared<RunCoordinator>();
  state_->generation = next_generation();
  make_communicators(*state_->plan, parts);
  auto links = make_links(static_cast<int>(parts.size()));
  for (int process = 0; process < static_cast<int>(parts.size()); ++process) {
    auto& [runtime, context] = parts[process];
    state_->parts.push_back(std::make_unique<PlanPart>(runtime, *state_, process, std::move(context),
                                                       std::move(links[static_cast<std::size_t>(process)])));
  }
}

SpawnedPlan::SpawnedPlan(PartSetup part, CheckedPlan plan, std::shared_ptr<Cluster> cluster,
                         std::shared_ptr<Trace> trace, std::optional<std::uint64_t> generation)
    : state_(new State{{std::move(plan), nullptr, 0, std::move(trace)}}) {
  const DefaultFloatMode mode;
  state_->cluster = std::make_unique<ClusterRun>(std::move(cluster), state_->plan, generation);
  state_->control = state_->cluster->control();
  state_->generation = state_->cluster->generation();
  state_->cluster->add_communicators(part.context);
  state_->parts.push_back(std::make_unique<PlanPart>(part.runtime, *state_, state_->cluster->process(),
                                                     std::move(part.context), state_->cluster->links()));
  state_->cluster->replace_links_with([part = state_->parts.front().get()](int process, std::shared_ptr<Link> link) {
    part->replace_link(process, std::move(link));
  });
}

SpawnedPlan::~SpawnedPlan() {
  if (is_shared()) state_->cluster->cluster().busy().set_task(this, std::nullopt);
  if (state_->cluster) state_->cluster->stop_replacing_links();
  state_->control->close();
  for (const auto& part : state_->parts) part->order_stop();
  std::vector<std::string> stuck;
  if (state_->under_test()) {
    run_all();
  } else if (on_own_thread() && !state_->leases.empty()) {
    // Waiting on one of the actors' own threads would keep the actors from ending.
    stuck.push_back("its own thread");
  } else if (!on_own_thread()) {
    for (const auto& part : state_->parts) {
      for (const auto& name : part->wait_until_gone(kStopLimit)) {
        part->runtime().leave_behind(name);
        stuck.push_back(name);
      }
    }
  }
  if (stuck.empty()) end_dirty();
  if (!stuck.empty()) state_->leases.abandon("a run was given up while " + stuck.front() + " was busy");
}

bool SpawnedPlan::on_own_thread() const {
  return std::ranges::any_of(state_->parts, [](const auto& part) { return part->runtime().on_own_thread(); });
}

/// Ends the leases of a run that has failed or was given up.
void SpawnedPlan::end_dirty() {
  const auto failure = state_->control->failure();
  state_->leases.end_dirty(failure ? to_string(*failure) : "a run was given up");
}

const Plan& SpawnedPlan::plan() const {
  return *state_->plan;
}

void SpawnedPlan::start(const RunInfo& run) {
  settle();
  if (state_->unequal_copies) throw Error("run", state_->unequal_copies->what);
  const auto phase = state_->control->phase();
  std::vector<Lease> borrowed;
  if (phase == RunControl::Phase::idle || phase == RunControl::Phase::done)
    for (std::size_t i = 0; i < state_->parts.size(); ++i)
      if (!state_->lost.contains(static_cast<int>(i))) borrowed.push_back(state_->parts[i]->borrow());
  RunLeases leases(std::move(borrowed), state_->parts.front()->equal_copies());
  state_->watch.begin(state_->statuses());
  state_->control->start(run);
  state_->leases = std::move(leases);
}

bool SpawnedPlan::can_run_again() const {
  const auto phase = state_->control->phase();
  return (phase == RunControl::Phase::idle || phase == RunControl::Phase::done) && final_failure() == nullptr &&
         state_->leases.empty() && state_->lost.empty() &&
         std::ranges::all_of(state_->parts, [](const auto& part) { return part->has_its_parameters(); });
}

bool SpawnedPlan::done() {
  settle();
  if (state_->control->phase() == RunControl::Phase::running) return false;
  if (is_shared()) state_->cluster->cluster().busy().set_task(this, std::nullopt);
  return true;
}

bool SpawnedPlan::has_begun() const {
  return state_->control->has_begun();
}

bool SpawnedPlan::drained() const {
  return state_->control->drained();
}

bool SpawnedPlan::stopped() const {
  return state_->control->stopped();
}

bool SpawnedPlan::interrupted() const {
  return state_->control->interrupted();
}

bool SpawnedPlan::is_shared() const {
  return state_->cluster != nullptr;
}

std::uint64_t SpawnedPlan::generation() const {
  return state_->generation;
}

std::vector<int> SpawnedPlan::absent() const {
  return state_->control->absent();
}

FailurePtr SpawnedPlan::failure() const {
  const auto cause = state_->control->failure();
  return cause ? cause : state_->unequal_copies;
}

FailurePtr SpawnedPlan::final_failure() const {
  const auto cause = state_->control->final_failure();
  return cause ? cause : state_->unequal_copies;
}

/// Ends the leases of a run if all actors have finished it, so that none writes any more.
void SpawnedPlan::settle() {
  if (state_->leases.empty() || !state_->control->drained()) return;
  if (state_->control->failure()) return end_dirty();
  try {
    state_->leases.end_clean();
  } catch (const Error& error) {
    state_->unequal_copies = std::make_shared<const Failure>(Failure{.what = error.what()});
  }
}

void SpawnedPlan::interrupt() {
  state_->control->interrupt();
}

void SpawnedPlan::stop() {
  state_->control->stop();
}

void SpawnedPlan::stop_because_of(const std::exception_ptr& error) {
  if (!done() || !is_shared()) return end_run_because_of(error);
  state_->control->give_up(failure_of_program(state_->cluster->process(), error));
}

void SpawnedPlan::end_run_because_of(const std::exception_ptr& error) {
  if (done()) return;
  is_shared() ? state_->control->failed(failure_of_program(state_->cluster->process(), error)) : stop();
}

void SpawnedPlan::on_over(std::function<void()> callback) {
  state_->control->on_over(std::move(callback));
}

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
  while (!state_->control->wait_for(options.interval)) {
    if (options.on_interval) call_back(kCallback, options.on_interval);
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

void SpawnedPlan::lose(int part) {
  const auto& expendable = state_->plan->expendable;
  if (!state_->coordinator || std::ranges::find(expendable, part) == expendable.end())
    throw Error("plan", "part " + std::to_string(part) + " cannot be lost: it is not expendable, or not here");
  state_->lost.insert(part);
  state_->parts.at(static_cast<std::size_t>(part))->order_stop();
  state_->coordinator->lose(part);
}

void SpawnedPlan::give_up(const std::string& reason) {
  state_->control->give_up(
      std::make_shared<Failure>(Failure{.actor = "watchdog", .kind = FailureKind::stalled, .what = reason}));
}

const std::vector<caf::actor>& SpawnedPlan::actors(int part) const {
  return state_->parts.at(static_cast<std::size_t>(part))->actors();
}

const std::string& SpawnedPlan::actor_name(int part, std::size_t number) const {
  return state_->parts.at(static_cast<std::size_t>(part))->statuses().at(number)->name;
}

const caf::actor& SpawnedPlan::supervisor(int part) const {
  return state_->parts.at(static_cast<std::size_t>(part))->supervisor();
}

}  // namespace troupe
