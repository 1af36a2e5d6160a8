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

/// A function that begins one stage of a collective and returns the work of the stage. It is empty if this process has
/// no part in the stage.
using BeginStage = std::function<std::shared_ptr<Work>()>;
using Stages = std::array<BeginStage, kStages>;

/// A collective that runs as stages, one after the other. A stage is a collective of another communicator, copies
/// between a device and the host, or both.
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

/// The staged collectives of one communicator, in this process, that are not complete. All ranks of a communicator that
/// the stages use must begin its collectives in the same order. Therefore the queue begins each stage of its
/// collectives in the order in which they were added, and no two stages may use the same communicator unless all of its
/// ranks are in this process. Thread-safe.
class StageQueue {
 public:
  /// Adds a collective for which `ranks` ranks of this process wait, and begins its first stage if the earlier
  /// collectives have begun theirs. If a stage throws, rethrows its exception and does not add the collective. Throws
  /// Aborted after fail().
  std::shared_ptr<StagedCollective> add(Stages stages, std::size_t ranks = 1);
  /// Advances all collectives of the queue, the earlier ones first. Returns true if `collective` is complete then.
  /// Calls the listeners of every collective that completes in this call, on this thread. Rethrows the exception of any
  /// of the collectives. Throws Aborted after fail().
  bool advance(const StagedCollective& collective);
  /// Fails all collectives of the queue, and calls their listeners. add() and advance() throw Aborted with `failure`
  /// from then on. Does nothing after the first call.
  void fail(const FailurePtr& failure);
  /// Removes a collective from the queue. Returns true if the collective is complete.
  bool remove(const StagedCollective& collective);
  /// Destroys the work of the current stage of a collective that was removed, so that the work does not write to the
  /// caller's tensors any more.
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

/// The Work of a collective in a StageQueue. Several ranks of this process may wait for it.
class StagedWork : public HostWork {
 public:
  using GiveUp = std::function<void(const FailurePtr& failure)>;

  /// Begins the collective for `ranks` ranks of this process. `give_up` is called if the constructor or advance()
  /// throws, or if the work is destroyed before the collective is complete. `give_up` must fail the collective on the
  /// other ranks.
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
  /// Calls `function` and returns its result. If `function` throws, calls give_up_ and rethrows: ranks of other
  /// machines may not belong to the communicator that failed, and learn of the failure through give_up_ alone.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  GiveUp give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
