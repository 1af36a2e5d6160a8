#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

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
/// others wait. Heartbeats carry the state: every rank tells rank 0 its own, and rank 0 tells the others the longest.
/// Thread-safe.
class BusyRanks {
 public:
  using Clock = std::chrono::steady_clock;
  struct Work {
    std::string what;
    Clock::time_point since;
  };

  explicit BusyRanks(int rank) : rank_(rank) {}

  /// Sets what this rank is busy with; nothing if it is not busy. Returns the value that was set before.
  std::optional<Work> set(std::optional<Work> work);
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

  const int rank_;
  mutable std::mutex mutex_;
  std::optional<Work> own_;
  std::map<int, BusyRank> told_;  // by the rank that has told it
};

}  // namespace troupe
