#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/threads/over_callback.hpp"

namespace troupe {

enum class RunPhase { idle, running, done, failed };

/// How a run ended.
struct RunEnd {
  RunPhase phase = RunPhase::idle;
  FailurePtr failure;
  bool drained = false;  ///< every actor has finished, with or without a failure
  bool stopped = false;  ///< it was ended early by a stop
};

/// How the run that was started last ended, for those who wait for it. Thread-safe.
class RunOutcome {
 public:
  /// A run is in progress. Throws Error if one was already, or if none can follow a failure.
  void begin();
  /// Something has failed, and the run is about to end because of it. The first failure counts.
  void note(const FailurePtr& failure);
  /// It has ended. False if none is in progress, which stays as it ended: after a failure none can follow. False, too,
  /// if the plan has gone.
  bool end(const RunEnd& end);
  /// A run that has ended well stays so, but none can follow. The first failure counts.
  void forbid_runs(const FailurePtr& failure);
  /// The plan goes: nothing ends any more, and nobody is called back. False if it was closed before.
  bool close();

  RunEnd last() const;
  bool running() const { return last().phase == RunPhase::running; }
  /// A failure ends nothing any more: the plan has gone, or a run has failed.
  bool settled() const;
  /// Waits until no run is in progress, at most for `limit`. True if none is.
  bool wait_for(std::chrono::milliseconds limit) const;
  void on_over(std::function<void()> callback) { on_over_.set(std::move(callback)); }
  /// Calls what on_over() was given. To be called after end(), with no lock held.
  void call_back() { on_over_.call(); }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  RunEnd end_;
  FailurePtr forbidden_;
  bool closed_ = false;
  OverCallback on_over_;
};

}  // namespace troupe
