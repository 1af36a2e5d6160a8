#include "troupe/actors/run/run_coordinator.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

FailurePtr failure_of_process(int process, const std::string& what) {
  return std::make_shared<Failure>(Failure{.rank = process,
                                           .actor = "process " + std::to_string(process),
                                           .kind = FailureKind::part_died,
                                           .what = "[plan] process " + std::to_string(process) + " " + what});
}

FailurePtr left_early(int process) {
  return failure_of_process(process, "has given up the plan");
}

FailurePtr other_run(int process, const RunInfo& theirs, const RunInfo& ours) {
  const auto text = [](const RunInfo& run) {
    return "epoch " + std::to_string(run.epoch) + ", batch " + std::to_string(run.first_batch) + ", step " +
           std::to_string(run.first_step) +
           (run.max_steps == kLastStep ? "" : ", " + std::to_string(run.max_steps) + " steps");
  };
  return failure_of_process(process, "starts a run at " + text(theirs) + ", but process 0 at " + text(ours));
}

}  // namespace

int RunCoordinator::join(Post post, bool has_sources) {
  std::lock_guard lock(mutex_);
  parts_.push_back({std::move(post), has_sources});
  return static_cast<int>(parts_.size()) - 1;
}

int RunCoordinator::join_remote(Post post, std::function<void(const RunEnd&)> post_end, bool has_sources, int process) {
  std::lock_guard lock(mutex_);
  Part part{std::move(post), has_sources};
  part.process = process;
  part.post_end = std::move(post_end);
  parts_.push_back(std::move(part));
  return static_cast<int>(parts_.size()) - 1;
}

void RunCoordinator::leave(int part) {
  std::lock_guard lock(mutex_);
  parts_[part].post = nullptr;
}

void RunCoordinator::post(const RunOrder& order, bool sources_only) {
  for (const auto& part : parts_)
    if (part.post && (part.has_sources || !sources_only)) part.post(order);
}

void RunCoordinator::await_reports() {
  for (auto& part : parts_) part.reported = false;
}

bool RunCoordinator::all_reported(int part, bool sources_only) {
  parts_[part].reported = true;
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const Part& p) { return p.reported || (sources_only && !p.has_sources); });
}

void RunCoordinator::start(const RunInfo& run) {
  std::unique_lock lock(mutex_);
  if (run.first_step < 0 || run.max_steps < 0 || run.first_batch < 0)
    throw Error("plan", "a run cannot have " + std::to_string(run.max_steps) + " steps from step " +
                            std::to_string(run.first_step) + ", batch " + std::to_string(run.first_batch) + " on");
  if (phase_ == Phase::running) throw Error("plan", "a run is in progress already");
  if (const auto cause = failure_ ? failure_ : broken_)
    throw Error("plan", "cannot run again after a failure: " + to_string(*cause));
  phase_ = Phase::running;
  order_ = {order_.run + 1, run};
  preparing_ = true;
  order_posted_ = false;
  started_ = stop_wanted_ = stopped_ = pausing_ = false;
  end_step_ = kLastStep;
  furthest_step_ = run.first_step;
  finished_.clear();
  drained_ = false;
  prepare_if_ready(lock);
}

void RunCoordinator::wired(int part) {
  std::unique_lock lock(mutex_);
  parts_[part].wired = true;
  prepare_if_ready(lock);
}

void RunCoordinator::asked(int part, const RunInfo& run) {
  std::unique_lock lock(mutex_);
  parts_[part].asked = run;
  prepare_if_ready(lock);
}

void RunCoordinator::owner_left(int part) {
  std::unique_lock lock(mutex_);
  parts_[part].left = true;
  prepare_if_ready(lock);
  if (phase_ == Phase::running) fail(left_early(*parts_[part].process), lock);
}

/// Once all parts are wired, and all owners have started the run.
void RunCoordinator::prepare_if_ready(std::unique_lock<std::mutex>& lock) {
  if (phase_ != Phase::running || !preparing_) return;
  bool ready = true;
  for (const auto& part : parts_) {
    if (part.left) return fail(left_early(*part.process), lock);
    if (part.asked && *part.asked != order_.info) return fail(other_run(*part.process, *part.asked, order_.info), lock);
    ready = ready && part.wired && (!part.process || part.asked);
  }
  if (!ready || order_posted_) return;
  order_posted_ = true;
  await_reports();
  post(order_);
}

void RunCoordinator::prepared(int part, std::int64_t end_step) {
  std::lock_guard lock(mutex_);
  if (phase_ != Phase::running || !preparing_) return;
  end_step_ = std::min(end_step_, end_step);
  if (!all_reported(part)) return;
  preparing_ = false;
  started_ = true;
  // Stopped before it began: the sources end without a step.
  if (stop_wanted_) end_step_ = order_.info.first_step;
  post(StartSources{end_step_}, true);
}

void RunCoordinator::stop() {
  std::lock_guard lock(mutex_);
  if (phase_ != Phase::running) return;
  stopped_ = true;
  pause_sources();
}

void RunCoordinator::pause_sources() {
  stop_wanted_ = true;
  if (!started_ || pausing_) return;
  pausing_ = true;
  await_reports();
  post(PauseSources{order_.run}, true);
}

void RunCoordinator::paused(int part, std::uint64_t run, std::int64_t next_step) {
  std::lock_guard lock(mutex_);
  // An answer may come after the end of the run it was asked for.
  if (phase_ != Phase::running || run != order_.run || !pausing_) return;
  furthest_step_ = std::max(furthest_step_, next_step);
  if (all_reported(part, true)) post(RunUntil{furthest_step_}, true);
}

void RunCoordinator::failed(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (phase_ != Phase::running) return;
  if (!failure_) failure_ = failure;
  pause_sources();
}

void RunCoordinator::finished(int part) {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::running) return;
  finished_.insert(part);
  if (finished_.size() < parts_.size()) return;
  drained_ = true;
  finish(failure_ ? Phase::failed : Phase::done, lock);
}

void RunCoordinator::give_up(const FailurePtr& failure) {
  std::unique_lock lock(mutex_);
  if (closed_ || phase_ == Phase::failed) return;
  if (phase_ == Phase::running) return fail(failure, lock);
  // A run that has ended well stays so; none can follow.
  if (!broken_) broken_ = failure;
  post(AbortRun{broken_});
}

void RunCoordinator::fail(const FailurePtr& failure, std::unique_lock<std::mutex>& lock) {
  if (!failure_) failure_ = failure;
  post(AbortRun{failure_});
  finish(Phase::failed, lock);
}

void RunCoordinator::finish(Phase phase, std::unique_lock<std::mutex>& lock) {
  phase_ = phase;
  for (auto& part : parts_) {
    part.asked.reset();
    if (part.post_end) part.post_end({phase_, failure_, drained_, stopped_});
  }
  changed_.notify_all();
  lock.unlock();
  on_over_.call();
}

void RunCoordinator::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  on_over({});
}

bool RunCoordinator::stopped() const {
  std::lock_guard lock(mutex_);
  return stopped_;
}

bool RunCoordinator::drained() const {
  std::lock_guard lock(mutex_);
  return drained_;
}

RunCoordinator::Phase RunCoordinator::phase() const {
  std::lock_guard lock(mutex_);
  return phase_;
}

FailurePtr RunCoordinator::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool RunCoordinator::wait_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return phase_ != Phase::running; });
}

}  // namespace troupe
