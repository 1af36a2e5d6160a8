#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/inbox.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe::local {

/// A collective that some ranks have begun and not all have completed. Each rank goes through three phases: arrived
/// (its tensors may be read), reduced (it has written what others copy), copied (it reads nothing of others any more).
/// A phase is complete when all ranks have passed it; the last rank to pass notifies the others.
class PendingCollective {
 public:
  enum Phase { arrived, reduced, copied, kPhases };

  explicit PendingCollective(int ranks)
      : inputs(ranks), listeners(static_cast<std::size_t>(ranks)), phases_passed_(ranks) {}

  void pass(int rank, Phase phase);
  bool complete(Phase phase) const {
    return passed_[phase].load(std::memory_order_acquire) == static_cast<int>(inputs.size());
  }
  /// The first rank that has not passed the phase, or -1.
  int missing(Phase phase) const;
  /// Restores the initial state, for another collective.
  void reset();

  /// Rank's tensor, readable by all once the phase `arrived` is complete.
  std::vector<Tensor> inputs;
  /// Locked shared to read the tensors of others: look, once it is held, whether the collective has failed. Locked
  /// exclusively by a rank that takes its tensor back from a collective that has failed.
  std::shared_mutex reading;
  /// By rank. Other ranks may pass a phase meanwhile.
  ProgressListeners listeners;

  std::int64_t number = 0;
  CallSignature signature;
  int first_rank = -1;
  /// For the group, whose lock guards them: works that refer to this, and whether a rank has completed it.
  int works = 0;
  bool completed = false;

 private:
  std::array<std::atomic<int>, kPhases> passed_{};
  std::vector<std::atomic<int>> phases_passed_;  // by rank
};

/// The state that the ranks of one group share. Any thread; listeners are called on the thread that lets others go on.
class Group {
 public:
  static constexpr int kNoRank = -1;

  explicit Group(int ranks) : ranks_(ranks), next_call_(ranks, 0) {}

  int ranks() const { return ranks_; }

  /// A rank begins its next collective. Throws Aborted if it cannot complete; if the ranks do not agree, on all of
  /// them.
  std::shared_ptr<PendingCollective> enter(int rank, const CallSignature& signature, const Tensor& input);
  /// Whether the collective will not complete.
  bool failed(std::int64_t number) const { return abort_.is_set() || has_left(number); }
  /// Throws Aborted if the collective will not complete.
  void check(std::int64_t number) const;
  /// A rank has completed the collective, so all have done all they do to it.
  void complete(PendingCollective& pending);
  /// A rank's work on the collective is destroyed.
  void release(std::shared_ptr<PendingCollective> pending);

  void send(int from, int to, const Tensor& tensor);
  Receive post(int from, int to);
  /// Names the listener of a receive.
  void listen(const Receive& receive, ProgressListener listener);
  /// The tensor of that receive, once it is there. Throws Aborted if it never will be.
  std::optional<Tensor> take(const Receive& receive);
  /// The receive is complete, or given up.
  void drop(const Receive& receive);

  /// Fails every collective and receive, and wakes all ranks except one, or all for kNoRank.
  void abort(int except, FailurePtr failure);
  /// Fails what a rank has not entered and not sent yet.
  void leave(int rank, FailurePtr failure);

 private:
  std::shared_ptr<PendingCollective> find_or_make(std::int64_t number);
  bool has_left(std::int64_t number) const { return number >= left_at_.load(std::memory_order_acquire); }

  const int ranks_;
  Abort abort_;
  /// Collectives from this number on will not complete, because a rank has left.
  std::atomic<std::int64_t> left_at_{std::numeric_limits<std::int64_t>::max()};
  Abort left_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::int64_t> next_call_;
  std::vector<std::shared_ptr<PendingCollective>> pending_;
  /// Collectives that are over, to be used again: a step then allocates none.
  std::vector<std::shared_ptr<PendingCollective>> spare_;
  std::map<std::pair<int, int>, Inbox> inboxes_;  // by sender and receiver
  std::map<Receive, ProgressListener> receivers_;
  std::set<int> ranks_that_left_;
};

}  // namespace troupe::local
