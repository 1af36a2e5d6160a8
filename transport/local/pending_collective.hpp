#pragma once

#include <array>
#include <atomic>
#include <shared_mutex>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/progress_listeners.hpp"

namespace troupe::local {

/// A collective that some ranks have begun and not all have completed. Each rank goes through three phases: arrived
/// (its tensors may be read), reduced (it has written what others copy), copied (it reads nothing of others any more).
/// A phase is complete when all ranks have passed it; the last rank to pass notifies the others.
class PendingCollective {
 public:
  enum Phase { arrived, reduced, copied, kPhases };

  explicit PendingCollective(int ranks)
      : inputs(ranks), phases_passed_(ranks), listeners_(static_cast<std::size_t>(ranks)) {}

  /// Rank's tensor, readable by all once the phase `arrived` is complete.
  std::vector<Tensor> inputs;
  /// Locked shared to read the tensors of others: look, once it is held, whether the collective has failed. Locked
  /// exclusively by a rank that takes its tensor back from a collective that has failed.
  std::shared_mutex reading;

  /// Names the listener of a rank. Thread-safe: other ranks may pass a phase meanwhile.
  void listen(int rank, ProgressListener listener) {
    listeners_.set(static_cast<std::size_t>(rank), std::move(listener));
  }
  void pass(int rank, Phase phase);
  bool complete(Phase phase) const {
    return passed_[phase].load(std::memory_order_acquire) == static_cast<int>(inputs.size());
  }
  /// The first rank that has not passed the phase, or -1.
  int missing(Phase phase) const;
  /// Calls the listeners of all ranks except one; -1: of all ranks.
  void notify(int except) const { listeners_.notify(static_cast<std::size_t>(except)); }

  std::int64_t number = 0;
  CallSignature signature;
  int first_rank = -1;
  /// For the group, whose lock guards them: works that refer to this, and whether a rank has completed it.
  int works = 0;
  bool completed = false;

  /// As it was at first, to be used for another collective.
  void reset();

 private:
  std::array<std::atomic<int>, kPhases> passed_{};
  std::vector<std::atomic<int>> phases_passed_;  // by rank
  ProgressListeners listeners_;
};

}  // namespace troupe::local
