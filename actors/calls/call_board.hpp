#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Assigns calls to workers. A call is open from schedule() until it is completed, has failed, or is canceled; an open
/// call is assigned to a worker or waits. A call of a lost worker is assigned to another worker, so it may be executed
/// more than once, but only its first result counts. A call that fails cancels all open calls. The board has no access
/// to actors and functions.
class CallBoard {
 public:
  /// A worker has at most `in_flight` calls at the same time. Throws Error if `in_flight` is below 1.
  explicit CallBoard(int in_flight);

  void add_worker(int worker);
  /// Removes a worker. The worker's open calls become the first of the waiting calls.
  void lose_worker(int worker);
  int workers() const { return static_cast<int>(at_.size()); }

  /// Adds a waiting call. Returns the call's number, which is its RemoteCall::token().
  std::int64_t schedule();
  /// Assigns waiting calls in their order, each to the worker with the fewest calls, until no call waits or every
  /// worker has `in_flight` calls. Returns the worker and the call of each assignment.
  std::vector<std::pair<int, std::int64_t>> assign();
  /// Ends a call that a worker has completed. Returns true if the call was open, false if it had ended or was canceled
  /// before.
  bool complete(std::int64_t call);
  /// Ends a call that has failed, and cancels all other open calls. Returns the failed call, then the canceled calls;
  /// nothing, without canceling, if the failed call was not open.
  std::vector<std::int64_t> fail(std::int64_t call);
  /// Number of open calls.
  std::int64_t open() const { return static_cast<std::int64_t>(open_.size()); }
  bool is_open(std::int64_t call) const { return open_.contains(call); }

 private:
  void remove(std::int64_t call);

  std::size_t in_flight_;
  std::int64_t next_ = 0;
  std::set<std::int64_t> open_;
  std::deque<std::int64_t> waiting_;
  std::map<int, std::set<std::int64_t>> at_;  // by worker: the calls assigned to the worker
};

}  // namespace troupe
