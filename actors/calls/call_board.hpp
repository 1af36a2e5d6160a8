#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Which call is where: pure bookkeeping, no actor and no function. A call is handed out again when the worker that had
/// it is lost, so it may be executed more than once, but it ends once: what comes of it later does not count. The first
/// call that fails cancels all others.
class CallBoard {
 public:
  /// A worker has so many calls at most. Throws Error if that is below 1.
  explicit CallBoard(int in_flight);

  void add_worker(int worker);
  /// Nothing more comes from a worker; its calls go to others, before those that have waited.
  void lose_worker(int worker);
  int workers() const { return static_cast<int>(at_.size()); }

  /// Returns the number of the call: its token.
  std::int64_t schedule();
  /// What is to be sent where now: calls in their order, each to the worker that has the fewest.
  std::vector<std::pair<int, std::int64_t>> hand_out();
  /// A call has ended, the first time: true. A call that was cancelled, or has ended before, does not count.
  bool complete(std::int64_t call);
  /// It has failed: as above, and all open calls are cancelled. Returns those; itself first.
  std::vector<std::int64_t> fail(std::int64_t call);
  /// Calls that have not ended.
  std::int64_t open() const { return static_cast<std::int64_t>(open_.size()); }
  bool is_open(std::int64_t call) const { return open_.contains(call); }

 private:
  void leave_all(std::int64_t call);

  std::size_t in_flight_;
  std::int64_t next_ = 0;
  std::set<std::int64_t> open_;
  std::deque<std::int64_t> waiting_;
  std::map<int, std::set<std::int64_t>> at_;  // by worker, the calls that it has
};

}  // namespace troupe
