#include "troupe/actors/control/run_control.hpp"

#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void RunOutcome::begin() {
  std::lock_guard lock(mutex_);
  if (end_.phase == RunPhase::running) throw Error("plan", "a run is in progress already");
  if (const auto cause = end_.failure ? end_.failure : forbidden_)
    throw Error("plan", "cannot run again after a failure: " + to_string(*cause));
  end_ = {RunPhase::running, nullptr};
}

void RunOutcome::note(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (end_.phase == RunPhase::running) end_.failure = failure;
}

bool RunOutcome::end(const RunEnd& end) {
  std::lock_guard lock(mutex_);
  if (end_.phase != RunPhase::running && end.failure && !forbidden_) forbidden_ = end.failure;
  if (closed_ || end_.phase != RunPhase::running) return false;
  end_ = end;
  changed_.notify_all();
  return true;
}

bool RunOutcome::forbid_runs(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (forbidden_) return false;
  forbidden_ = failure;
  return true;
}

bool RunOutcome::close() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return false;
  }
  on_over({});
  return true;
}

void RunOutcome::on_over(std::function<void()> callback) {
  std::lock_guard lock(callback_mutex_);
  on_over_ = std::move(callback);
}

void RunOutcome::call_back() {
  std::lock_guard lock(callback_mutex_);
  const auto callback = on_over_;  // a copy, since the callback may call on_over()
  try {
    if (callback) callback();
  } catch (...) {
    // An exception of the callback is an error of the program that has set it. It does not fail the run.
  }
}

RunEnd RunOutcome::last() const {
  std::lock_guard lock(mutex_);
  return end_;
}

FailurePtr RunOutcome::final_failure() const {
  std::lock_guard lock(mutex_);
  return end_.failure ? end_.failure : forbidden_;
}

bool RunOutcome::settled() const {
  std::lock_guard lock(mutex_);
  return closed_ || end_.phase == RunPhase::failed;
}

bool RunOutcome::wait_for(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return end_.phase != RunPhase::running; });
}

}  // namespace troupe
