#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "troupe/transport/frame.hpp"

namespace troupe {

/// A rank that has been busy with one thing for some time: its program has not returned from a callback, or one of its
/// actors has not returned from a task.
struct BusyRank {
  int rank = 0;
  std::string what;  ///< such as `a callback of its program`
  std::chrono::milliseconds time{0};
};

/// The ranks of a job that are busy with one thing, so that a stall is reported with the name of the rank for which the
/// others wait. A rank is busy with the callbacks of its program and the tasks of its actors. It is not busy while it
/// waits for other ranks. Heartbeats carry the state: every rank tells rank 0 its own, and rank 0 tells the others the
/// longest. Thread-safe.
class BusyRanks {
 public:
  using Clock = std::chrono::steady_clock;
  struct Work {
    std::string what;
    Clock::time_point since;
  };

  explicit BusyRanks(int rank) : rank_(rank) {}

  /// Sets the callback of the program that the calling thread is in; nothing if it is in none, or waits for other
  /// ranks. Returns the value that was set before. See BusyScope.
  std::optional<Work> set_callback(std::optional<Work> callback);
  /// Sets the task that an actor of a plan of this rank has been running for longest; nothing if none runs. `plan`
  /// tells the plans of this rank apart.
  void set_task(const void* plan, std::optional<Work> task);
  /// Returns what this rank is busy with: the longest callback if it lasts for more than a second, because the thread
  /// that is in it looks for no tasks; else the longest task; else the longest callback. Nothing if it is not busy.
  std::optional<Work> own() const;
  /// Returns the rank that has been busy for longest, as far as this process knows; nothing if none has been busy for
  /// more than a second.
  std::optional<BusyRank> longest() const;

  /// Writes the state to a heartbeat: rank 0 writes longest(), another rank what it is busy with itself. read() takes
  /// the state from a heartbeat that rank `from` has sent.
  void write(Frame& heartbeat) const;
  void read(int from, const FrameHeader& header, const Tensor& payload);
  /// Drops what rank `from` has told, because the rank is lost.
  void forget(int from);

 private:
  std::optional<BusyRank> longest_of(bool own_only) const;
  const Work* own_work() const;  // the caller has locked mutex_

  const int rank_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, Work> callbacks_;
  std::map<const void*, Work> tasks_;  // by plan
  std::map<int, BusyRank> told_;       // by the rank that has told it
};

/// Sets what the calling thread does until the end of the scope: it is in a callback of the program, or it waits for
/// other ranks. At the end, what was set before is set again, and its time begins anew. `ranks` must outlive the scope.
class BusyScope {
 public:
  /// `callback` is the name of the callback; nothing if the thread waits for other ranks.
  BusyScope(BusyRanks& ranks, std::optional<std::string> callback);
  ~BusyScope();
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  BusyRanks& ranks_;
  std::optional<BusyRanks::Work> before_;
};

}  // namespace troupe
