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
/// (the others may read its tensors), reduced (it has written the sums that the others copy), copied (it does not read
/// tensors of others any more). A phase is complete when all ranks have passed it; the last rank to pass notifies the
/// others.
class PendingCollective {
 public:
  enum Phase { arrived, reduced, copied, kPhases };

  explicit PendingCollective(int ranks)
      : inputs(ranks), listeners(static_cast<std::size_t>(ranks)), phases_passed_(ranks) {}

  void pass(int rank, Phase phase);
  bool complete(Phase phase) const {
    return passed_[phase].load(std::memory_order_acquire) == static_cast<int>(inputs.size());
  }
  /// Returns the lowest rank that has not passed the phase, or -1 if all have.
  int missing(Phase phase) const;
  /// Drops the inputs and the listeners and clears the phases, so that the object can serve another collective.
  void reset();

  /// The inputs by rank. All ranks may read them once the phase `arrived` is complete.
  std::vector<Tensor> inputs;
  /// A rank must hold this lock, shared, while it reads tensors of others, and must check under the lock that the
  /// collective has not failed. A rank that takes its tensor back from a failed collective holds the lock exclusively.
  std::shared_mutex reading;
  /// The listeners by rank. A rank may set its listener while other ranks pass a phase.
  ProgressListeners listeners;

  std::int64_t number = 0;
  CallSignature signature;
  int first_rank = -1;
  /// `works` is the number of works that refer to this object. `completed` is true once a rank has completed the
  /// collective. The lock of the Group guards both.
  int works = 0;
  bool completed = false;

 private:
  std::array<std::atomic<int>, kPhases> passed_{};
  std::vector<std::atomic<int>> phases_passed_;  // by rank: the number of phases passed
};

/// The state that the ranks of a group share; all of them are in this process. Thread-safe. A listener is called on the
/// thread whose call makes the progress.
class Group {
 public:
  static constexpr int kNoRank = -1;

  explicit Group(int ranks) : ranks_(ranks), next_call_(ranks, 0) {}

  int ranks() const { return ranks_; }

  /// Begins the next collective of a rank. Throws Aborted if the group was aborted, or if a rank has left before this
  /// collective. If another rank has begun this collective with another signature, aborts the group and throws Aborted.
  std::shared_ptr<PendingCollective> enter(int rank, const CallSignature& signature, const Tensor& input);
  /// Returns true if collective `number` cannot complete any more: the group was aborted, or a rank has left before it.
  bool failed(std::int64_t number) const { return abort_.is_set() || has_left(number); }
  /// Throws Aborted if failed(number) is true.
  void check(std::int64_t number) const;
  /// Removes a collective from pending_. Each rank calls it when it has completed the collective; all ranks have passed
  /// the last phase then.
  void complete(PendingCollective& pending);
  /// Must be called when a rank's work on the collective is destroyed. Keeps the object for another collective if the
  /// collective is completed and no work refers to it any more.
  void release(std::shared_ptr<PendingCollective> pending);

  void send(int from, int to, const Tensor& tensor);
  Receive post(int from, int to);
  /// Sets the listener of a receive.
  void listen(const Receive& receive, ProgressListener listener);
  /// Returns the tensor of a receive, or nothing if it has not been sent yet. Throws Aborted if the group was aborted,
  /// or if the sender has left without sending it.
  std::optional<Tensor> take(const Receive& receive);
  /// Ends a receive that is complete or given up: removes its listener and its place in the inbox.
  void drop(const Receive& receive);

  /// Fails every collective and receive that is not complete, and calls the listeners of all ranks except `except`,
  /// which may be kNoRank. Later calls keep the first failure.
  void abort(int except, FailurePtr failure);
  /// Fails the collectives that a rank has not entered and the receives of tensors that it has not sent, and calls
  /// their listeners.
  void leave(int rank, FailurePtr failure);

 private:
  std::shared_ptr<PendingCollective> find_or_make(std::int64_t number);
  bool has_left(std::int64_t number) const { return number >= left_at_.load(std::memory_order_acquire); }

  const int ranks_;
  Abort abort_;
  /// The collectives from this number on do not complete, because a rank has left. The largest number if no rank has
  /// left.
  std::atomic<std::int64_t> left_at_{std::numeric_limits<std::int64_t>::max()};
  Abort left_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::int64_t> next_call_;
  std::vector<std::shared_ptr<PendingCollective>> pending_;
  /// The objects of completed collectives. New collectives use them again, so that a training step allocates none.
  std::vector<std::shared_ptr<PendingCollective>> spare_;
  std::map<std::pair<int, int>, Inbox> inboxes_;  // by sender and receiver
  std::map<Receive, ProgressListener> receivers_;
  std::set<int> ranks_that_left_;
};

}  // namespace troupe::local
