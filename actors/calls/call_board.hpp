#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Keeps books on which worker has which call. It knows no actor and no function. A call of a lost worker is given to
/// another one, so it may be executed more than once. It ends once: later results do not count. The first call that
/// fails cancels all others.
class CallBoard {
 public:
  /// A worker has at most `in_flight` calls. Throws Error if that is below 1.
  explicit CallBoard(int in_flight);

  void add_worker(int worker);
  /// Removes a worker. Its calls go to others, before the waiting calls.
  void lose_worker(int worker);
  int workers() const { return static_cast<int>(at_.size()); }

  /// Adds a call. Returns its number, the token.
  std::int64_t schedule();
  /// Assigns waiting calls in their order, each to the worker with the fewest. Returns worker and call of each.
  std::vector<std::pair<int, std::int64_t>> assign();
  /// A worker has completed a call. Returns true if the call was open, false if it had ended or was canceled before.
  bool complete(std::int64_t call);
  /// A call has failed. Cancels all open calls. Returns the failed call, then these; empty if the call was not open.
  std::vector<std::int64_t> fail(std::int64_t call);
  /// Number of open calls: those that have not ended.
  std::int64_t open() const { return static_cast<std::int64_t>(open_.size()); }
  bool is_open(std::int64_t call) const { return open_.contains(call); }

 private:
  void remove(std::int64_t call);

  std::size_t in_flight_;
  std::int64_t next_ = 0;
  std::set<std::int64_t> open_;
  std::deque<std::int64_t> waiting_;
  std::map<int, std::set<std::int64_t>> at_;  // calls by worker
};

}  // namespace troupe
