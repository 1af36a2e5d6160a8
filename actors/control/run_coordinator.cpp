#include "troupe/actors/control/run_coordinator.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "troupe/actors/control/root_cause.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kCloseLimit{10};

FailurePtr left_early(int process) {
  return failure_of_process(process, "[plan] process " + std::to_string(process) + " has given up the plan");
}

FailurePtr other_run(int process, const RunInfo& theirs, const RunInfo& ours) {
  const auto text = [](const RunInfo& run) {
    return "epoch " + std::to_string(run.epoch) + ", batch " + std::to_string(run.first_batch) + ", step " +
           std::to_string(run.first_step) +
           (run.max_steps == kLastStep ? "" : ", " + std::to_string(run.max_steps) + " steps");
  };
  return failure_of_process(process, "[plan] process " + std::to_string(process) + " starts a run at " + text(theirs) +
                                         ", but process 0 at " + text(ours));
}

}  // namespace

int RunCoordinator::add(Part part) {
  std::lock_guard lock(mutex_);
  parts_.push_back(std::move(part));
  return static_cast<int>(parts_.size()) - 1;
}

int RunCoordinator::join(Post post, bool has_sources) {
  // In a job of several processes, this process has rank 0 and one part. In one process, part i stands for process i.
  return add({.post = std::move(post), .has_sources = has_sources, .process = local_parts_++});
}

int RunCoordinator::join_remote(Post post, std::function<void(const RunEnd&)> post_end, bool has_sources, int process,
                                Attendance attendance) {
  return add({.post = std::move(post),
              .has_sources = has_sources,
              .process = process,
              .is_remote = true,
              .attendance = attendance,
              .post_end = std::move(post_end)});
}

void RunCoordinator::leave(int part) {
  std::lock_guard lock(mutex_);
  parts_[part].post = nullptr;
}

RunCoordinator::Handling::~Handling() {
  const bool over = std::exchange(coordinator_.over_, false);
  lock_.unlock();
  if (const auto error = coordinator_.orders_.run_all())
    coordinator_.give_up(std::make_shared<Failure>(
        Failure{.actor = "run control", .kind = FailureKind::part_died, .what = "[run] " + text_of(error)}));
  if (over) coordinator_.outcome_.call_back();
}

void RunCoordinator::post(const RunOrder& order, bool sources_only) {
  const bool to_all = std::holds_alternative<AbortRun>(order);
  for (const auto& part : parts_)
    if (part.post && (part.in_run || to_all) && (part.has_sources || !sources_only))
      orders_.add([post = part.post, order] { post(order); });
}

void RunCoordinator::await_reports() {
  for (auto& part : parts_) part.reported = false;
}

bool RunCoordinator::all_reported(bool sources_only) const {
  return std::ranges::all_of(
      parts_, [&](const Part& part) { return part.reported || !part.in_run || (sources_only && !part.has_sources); });
}

void RunCoordinator::start(const RunInfo& run) {
  if (run.first_step < 0 || run.max_steps < 0 || run.first_batch < 0)
    throw Error("plan", "a run cannot have " + std::to_string(run.max_steps) + " steps from step " +
                            std::to_string(run.first_step) + ", batch " + std::to_string(run.first_batch) + " on");
  const Handling handling(*this);
  outcome_.begin();
  order_ = {order_.run + 1, run};
  stage_ = Stage::assembling;
  stopped_ = interrupted_ = false;
  end_step_ = kLastStep;
  furthest_step_ = run.first_step;
  for (auto& part : parts_) part.finished = part.in_run = false;
  prepare_if_ready();
}

void RunCoordinator::wired(int part) {
  const Handling handling(*this);
  parts_[part].wired = true;
  prepare_if_ready();
}

void RunCoordinator::asked(int part, const RunInfo& run) {
  const Handling handling(*this);
  parts_[part].asked = run;
  prepare_if_ready();
}

void RunCoordinator::owner_left(int part) {
  const Handling handling(*this);
  parts_[part].left = true;
  prepare_if_ready();
  if (outcome_.running()) fail(left_early(parts_[part].process));
}

void RunCoordinator::lose(int part) {
  const Handling handling(*this);
  parts_[part].lost = true;
  parts_[part].in_run = false;
  parts_[part].post = nullptr;
  parts_[part].post_end = nullptr;
  if (!outcome_.running()) return;
  prepare_if_ready();
  start_if_prepared();
  finish_if_drained();
}

/// Returns whether all parts for which the run waits are wired and, if they are in another process, their owners (the
/// SpawnedPlans there) have started a run. The run does not wait for lost parts and late comers. Fails the run and
/// returns false if the owner of a part with Attendance::needed has destroyed its plan, or has started a run with
/// another RunInfo.
bool RunCoordinator::all_ready() {
  bool ready = true;
  for (const auto& part : parts_) {
    if (part.lost || part.attendance == Attendance::late_comer) continue;
    const bool needed = part.attendance == Attendance::needed;
    if (needed && part.left) {
      fail(left_early(part.process));
      return false;
    }
    if (needed && part.asked && *part.asked != order_.info) {
      fail(other_run(part.process, *part.asked, order_.info));
      return false;
    }
    ready = ready && part.wired && (!part.is_remote || part.asked);
  }
  return ready;
}

/// Chooses the parts of the run that is about to begin: all that are wired and not lost and, if they are in another
/// process, whose owners (the SpawnedPlans there) have started a run. A late comer among them is expected in later
/// runs.
void RunCoordinator::choose_parts() {
  for (auto& part : parts_) {
    part.in_run = !part.lost && part.wired && (!part.is_remote || part.asked);
    if (part.in_run && part.attendance == Attendance::late_comer) part.attendance = Attendance::expected;
  }
  order_.absent = absent_parts();
}

/// Returns the processes that have no part in the run. A process that has come back has several parts in parts_; only
/// the last one counts.
std::vector<int> RunCoordinator::absent_parts() const {
  std::set<int> absent;
  for (const auto& part : parts_) {
    absent.erase(part.process);
    if (!part.in_run) absent.insert(part.process);
  }
  return {absent.begin(), absent.end()};
}

void RunCoordinator::prepare_if_ready() {
  if (!outcome_.running() || stage_ != Stage::assembling || !all_ready()) return;
  stage_ = Stage::preparing;
  choose_parts();
  await_reports();
  post(order_);
}

void RunCoordinator::prepared(int part, std::int64_t end_step) {
  const Handling handling(*this);
  if (!outcome_.running() || stage_ > Stage::preparing) return;
  end_step_ = std::min(end_step_, end_step);
  parts_[part].reported = true;
  start_if_prepared();
}

void RunCoordinator::start_if_prepared() {
  if (stage_ != Stage::preparing || !all_reported()) return;
  stage_ = Stage::started;
  // If the run was stopped or has failed before it began, its sources end without a step.
  if (stopped_ || failure_) end_step_ = order_.info.first_step;
  post(StartSources{end_step_}, true);
  if (interrupted_) pause_sources();
}

void RunCoordinator::stop() {
  const Handling handling(*this);
  if (!outcome_.running()) return;
  stopped_ = true;
  pause_sources();
}

void RunCoordinator::interrupt() {
  const Handling handling(*this);
  if (!outcome_.running() || interrupted_) return;
  interrupted_ = true;
  pause_sources();
}

void RunCoordinator::pause_sources() {
  if (stage_ != Stage::started) return;
  stage_ = Stage::pausing;
  await_reports();
  post(PauseSources{order_.run}, true);
}

void RunCoordinator::paused(int part, std::uint64_t run, std::int64_t next_step) {
  const Handling handling(*this);
  // A report that arrives after the end of its run is ignored.
  if (!outcome_.running() || run != order_.run || stage_ != Stage::pausing) return;
  furthest_step_ = std::max(furthest_step_, next_step);
  parts_[part].reported = true;
  if (all_reported(true)) post(RunUntil{furthest_step_}, true);
}

void RunCoordinator::failed(const FailurePtr& failure) {
  const Handling handling(*this);
  if (!outcome_.running()) return;
  failure_ = root_cause(failure_, failure);
  outcome_.note(failure_);
  pause_sources();
}

void RunCoordinator::finished(int part) {
  const Handling handling(*this);
  if (!outcome_.running()) return;
  parts_[part].finished = true;
  finish_if_drained();
}

void RunCoordinator::finish_if_drained() {
  const bool drained = std::ranges::all_of(parts_, [](const Part& part) { return part.finished || !part.in_run; });
  if (stage_ != Stage::assembling && drained) finish(failure_ ? Phase::failed : Phase::done, true);
}

void RunCoordinator::give_up(const FailurePtr& failure) {
  const Handling handling(*this);
  if (outcome_.settled()) return;
  if (outcome_.running()) return fail(failure);
  if (!outcome_.forbid_runs(failure)) return;
  post(AbortRun{failure});
  // The SpawnedPlan in another process may have started the next run already. This failure ends that run.
  post_end({Phase::failed, failure});
}

std::vector<int> RunCoordinator::absent() const {
  std::lock_guard lock(mutex_);
  return absent_parts();
}

void RunCoordinator::fail(const FailurePtr& failure) {
  if (!failure_) failure_ = failure;
  post(AbortRun{failure_});
  finish(Phase::failed, false);
}

void RunCoordinator::finish(Phase phase, bool drained) {
  const RunEnd end{phase, failure_, drained, stopped_, interrupted_};
  over_ = outcome_.end(end);
  post_end(end);
}

void RunCoordinator::post_end(const RunEnd& end) {
  for (auto& part : parts_) {
    // A late comer, the part of a process that has come back, that was not in this run gets no end of this run, and
    // keeps its request for the next one. After a failure there is no next run, so the late comer gets the end.
    if (!part.in_run && part.attendance == Attendance::late_comer && end.phase == Phase::done) continue;
    part.asked.reset();
    if (part.post_end) orders_.add([post = part.post_end, end] { post(end); });
  }
}

void RunCoordinator::close() {
  outcome_.close();
  orders_.wait_until_run(kCloseLimit);
}

}  // namespace troupe
