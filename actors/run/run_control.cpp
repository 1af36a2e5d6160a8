#include "troupe/actors/run/run_control.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

int RunControl::join(Post post, bool has_sources) {
  std::lock_guard lock(mutex_);
  parts_.push_back({std::move(post), has_sources});
  return static_cast<int>(parts_.size()) - 1;
}

void RunControl::leave(int part) {
  std::lock_guard lock(mutex_);
  parts_[part].post = nullptr;
}

void RunControl::post(const RunOrder& order, bool sources_only) {
  for (const auto& part : parts_)
    if (part.post && (part.has_sources || !sources_only)) part.post(order);
}

void RunControl::await_reports() {
  for (auto& part : parts_) part.reported = false;
}

bool RunControl::all_reported(int part, bool sources_only) {
  parts_[part].reported = true;
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const Part& p) { return p.reported || (sources_only && !p.has_sources); });
}

void RunControl::start(const RunInfo& run) {
  std::lock_guard lock(mutex_);
  if (run.first_step < 0 || run.max_steps < 0 || run.first_batch < 0)
    throw Error("plan", "a run cannot have " + std::to_string(run.max_steps) + " steps from step " +
                            std::to_string(run.first_step) + ", batch " + std::to_string(run.first_batch) + " on");
  if (phase_ == Phase::running) throw Error("plan", "a run is in progress already");
  if (phase_ == Phase::failed) throw Error("plan", "cannot run again after a failure: " + to_string(*failure_));
  phase_ = Phase::running;
  order_ = {order_.run + 1, run};
  preparing_ = true;
  started_ = stop_wanted_ = pausing_ = false;
  end_step_ = kLastStep;
  furthest_step_ = run.first_step;
  finished_.clear();
  drained_ = false;
  prepare_if_wired();
}

void RunControl::wired(int part) {
  std::lock_guard lock(mutex_);
  parts_[part].wired = true;
  if (phase_ == Phase::running && preparing_) prepare_if_wired();
}

void RunControl::prepare_if_wired() {
  if (!std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.wired; })) return;
  await_reports();
  post(order_);
}

void RunControl::prepared(int part, std::int64_t end_step) {
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

void RunControl::stop() {
  std::lock_guard lock(mutex_);
  if (phase_ == Phase::running) pause_sources();
}

void RunControl::pause_sources() {
  stop_wanted_ = true;
  if (!started_ || pausing_) return;
  pausing_ = true;
  await_reports();
  post(PauseSources{order_.run}, true);
}

void RunControl::paused(int part, std::uint64_t run, std::int64_t next_step) {
  std::lock_guard lock(mutex_);
  // An answer may come after the end of the run it was asked for.
  if (phase_ != Phase::running || run != order_.run || !pausing_) return;
  furthest_step_ = std::max(furthest_step_, next_step);
  if (all_reported(part, true)) post(RunUntil{furthest_step_}, true);
}

void RunControl::failed(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (phase_ != Phase::running) return;
  if (!failure_) failure_ = failure;
  pause_sources();
}

void RunControl::finished(int part) {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::running) return;
  finished_.insert(part);
  if (finished_.size() < parts_.size()) return;
  drained_ = true;
  finish(failure_ ? Phase::failed : Phase::done, lock);
}

void RunControl::give_up(const FailurePtr& failure) {
  std::unique_lock lock(mutex_);
  if (closed_ || phase_ == Phase::failed) return;
  if (!failure_) failure_ = failure;
  post(AbortRun{failure_});
  finish(Phase::failed, lock);
}

void RunControl::finish(Phase phase, std::unique_lock<std::mutex>& lock) {
  phase_ = phase;
  changed_.notify_all();
  lock.unlock();
  // Whoever closes waits until the callback has returned, and may do so in the callback itself.
  std::lock_guard calling(callback_mutex_);
  const auto callback = on_over_;  // it may replace itself
  try {
    if (callback) callback();
  } catch (...) {
    // The run is over all the same; the program's own error is not the run's.
  }
}

void RunControl::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  on_over({});
}

bool RunControl::drained() const {
  std::lock_guard lock(mutex_);
  return drained_;
}

RunControl::Phase RunControl::phase() const {
  std::lock_guard lock(mutex_);
  return phase_;
}

FailurePtr RunControl::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool RunControl::wait_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return phase_ != Phase::running; });
}

void RunControl::on_over(std::function<void()> callback) {
  std::lock_guard lock(callback_mutex_);
  on_over_ = std::move(callback);
}

}  // namespace troupe
