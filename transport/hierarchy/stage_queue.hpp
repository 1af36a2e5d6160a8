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

/// A function that begins one stage of a collective. It is empty if this rank has no part in the stage.
using BeginStage = std::function<std::shared_ptr<Work>()>;
using Stages = std::array<BeginStage, kStages>;

/// A collective whose stages are collectives of other communicators, one after the other.
struct StagedCollective {
  std::int64_t number = 0;
  Stages stages;
  /// The listeners of the local ranks that wait for the collective. `on_progress` calls them all.
  std::shared_ptr<ProgressListeners> listeners;
  ProgressListener on_progress;
  std::size_t stage = 0;
  std::shared_ptr<Work> current = nullptr;  // the work of stage `stage`; null if the stage has not begun

  bool complete() const { return stage == kStages; }
};

/// The staged collectives of a process that are not complete. All ranks of a communicator must begin its collectives in
/// the same order. So different stages use different communicators, unless all ranks of a communicator are in this
/// process, and the collectives begin each stage in the order in which they were added. Thread-safe.
class StageQueue {
 public:
  /// Adds a collective for which `ranks` ranks of this process wait, and begins its first stage if the earlier
  /// collectives have begun theirs. Rethrows the exception of the stage; the collective is then not added. Throws
  /// Aborted after fail().
  std::shared_ptr<StagedCollective> add(Stages stages, std::size_t ranks = 1);
  /// Advances all collectives of the queue, the earlier ones first. Returns true if `collective` is complete then.
  /// Calls the listeners of every collective that completes in this call, on this thread. Rethrows the exception of any
  /// of the collectives. Throws Aborted after fail().
  bool advance(const StagedCollective& collective);
  /// Fails all collectives of the queue, and calls their listeners. add() and advance() throw Aborted from now on. The
  /// first failure counts.
  void fail(const FailurePtr& failure);
  /// Removes a collective. Returns false if it is not complete.
  bool remove(const StagedCollective& collective);
  /// Destroys the work of the current stage of a collective that was removed: the work must not write to the caller's
  /// tensors any more.
  void drop_stage(StagedCollective& collective);
  std::string waits_for(const StagedCollective& collective) const;

 private:
  void begin_stage(StagedCollective& collective);
  void advance_one(StagedCollective& collective);

  mutable std::mutex mutex_;
  std::int64_t next_number_ = 0;
  std::array<std::int64_t, kStages> turns_{};  // by stage: the number of the collective that begins it next
  std::deque<std::shared_ptr<StagedCollective>> pending_;
  Abort abort_;
};

/// The work of a staged collective.
class StagedWork : public HostWork {
 public:
  using GiveUp = std::function<void(const FailurePtr& failure)>;

  /// Begins the collective for `ranks` ranks of this process. `give_up` is called if the collective fails, or if the
  /// work is destroyed before the collective is complete: it must end the waits of the other ranks.
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
  /// Calls the function and returns its result. If the function throws, calls give_up_ and rethrows: ranks of other
  /// machines are no members of the communicator that failed, and hear of the failure through give_up_ alone.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  GiveUp give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
