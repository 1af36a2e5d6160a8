#include "troupe/actors/spawn/spawned_plan.hpp"

#include <algorithm>
#include <atomic>

#include "troupe/actors/spawn/spawned_plan_state.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"

namespace troupe {

namespace {

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
  if (!is_shared()) settle();
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
  if (stuck.empty()) state_->leases.give_up(reason_of_end());
  if (!stuck.empty()) state_->leases.abandon("a run was given up while " + stuck.front() + " was busy");
}

bool SpawnedPlan::on_own_thread() const {
  return std::ranges::any_of(state_->parts, [](const auto& part) { return part->runtime().on_own_thread(); });
}

/// The failure of the run, or that the run was given up.
std::string SpawnedPlan::reason_of_end() const {
  const auto failure = state_->control->failure();
  return failure ? to_string(*failure) : "a run was given up";
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

const Lease::UpdatesByGroup& SpawnedPlan::failed_updates() {
  settle();
  return state_->leases.failed_updates();
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
  if (state_->control->failure()) return state_->leases.end_dirty(reason_of_end());
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

void SpawnedPlan::lose(int part) {
  const auto& expendable = state_->plan->expendable;
  if (!state_->coordinator || std::ranges::find(expendable, part) == expendable.end())
    throw Error("plan", "part " + std::to_string(part) + " cannot be lost: it is not expendable, or not here");
  state_->lost.insert(part);
  state_->parts.at(static_cast<std::size_t>(part))->order_stop();
  state_->coordinator->lose(part);
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
