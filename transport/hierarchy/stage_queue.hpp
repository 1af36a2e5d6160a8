#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe::hierarchy {

inline constexpr std::size_t kStages = 3;

/// Begins one stage of a collective; empty where a rank has no part in it.
using BeginStage = std::function<std::shared_ptr<Work>()>;
using Stages = std::array<BeginStage, kStages>;

/// A collective that is several, one after the other.
struct StagedCollective {
  std::int64_t number = 0;
  Stages stages;
  /// The listeners of the ranks that wait for the collective, and one that calls them all.
  std::shared_ptr<ProgressListeners> listeners;
  ProgressListener on_progress;
  std::size_t stage = 0;
  std::shared_ptr<Work> current = nullptr;  // the work of that stage, once it has begun

  bool complete() const { return stage == kStages; }
};

/// The collectives of a rank that are not complete. All ranks have to begin what they do on one communicator in the
/// same order: so each stage has a communicator of its own, on which the collectives begin it in their order.
/// Thread-safe.
class StageQueue {
 public:
  /// Begins what can be begun of a collective for which so many ranks of this process wait. Throws what that throws;
  /// then it is not added.
  std::shared_ptr<StagedCollective> add(Stages stages, std::size_t ranks = 1);
  /// Does what can be done for all of them, the earlier first. True if `collective` is complete then. The listeners of
  /// each one that completes in this call are called, on this thread. Throws what any of them throws, and Aborted after
  /// fail().
  bool advance(const StagedCollective& collective);
  /// None can complete any more; all listeners hear. The first failure counts.
  void fail(const FailurePtr& failure);
  /// Forgets a collective. False if it was not complete.
  bool remove(const StagedCollective& collective);
  /// Drops the work of a collective that is removed, which writes to tensors that are the caller's again.
  void drop_stage(StagedCollective& collective);
  std::string waits_for(const StagedCollective& collective) const;

 private:
  void begin_stage(StagedCollective& collective);
  void advance_one(StagedCollective& collective);

  mutable std::mutex mutex_;
  std::int64_t next_number_ = 0;
  std::array<std::int64_t, kStages> turns_{};  // the number of the collective that begins a stage next
  std::deque<std::shared_ptr<StagedCollective>> pending_;
  Abort abort_;
};

/// The work of a staged collective.
class StagedWork : public HostWork {
 public:
  using GiveUp = std::function<void(const FailurePtr& failure)>;

  /// Begins the collective for so many ranks of this process. `give_up` is called if the collective fails, or is
  /// destroyed before it is complete: no rank may wait for it.
  StagedWork(std::shared_ptr<StageQueue> queue, Stages stages, GiveUp give_up, std::size_t ranks = 1);
  ~StagedWork() override;

  bool advance(std::size_t local) override;
  std::string waits_for(std::size_t /*local*/) const override { return queue_->waits_for(*collective_); }
  void listen(std::size_t local, ProgressListener listener) override {
    collective_->listeners->set(local, std::move(listener));
  }

 protected:
  const std::shared_ptr<StagedCollective>& collective() const { return collective_; }

 private:
  /// Returns the result of the function. If it throws, the group is given up first: the ranks of other machines do not
  /// share the communicator that failed.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  GiveUp give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
