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

/// The numbers of the stages of a collective.
inline constexpr std::size_t kInside = 0;  ///< within a machine or process
inline constexpr std::size_t kEntry = 1;   ///< an agreement to begin the next stage
inline constexpr std::size_t kAcross = 2;  ///< between machines or processes
inline constexpr std::size_t kSpread = 3;  ///< within a machine or process again
inline constexpr std::size_t kStages = 4;

/// A function that begins one stage of a collective and returns the work of the stage. It is empty if this process has
/// no part in the stage.
using BeginStage = std::function<std::shared_ptr<Work>()>;
using Stages = std::array<BeginStage, kStages>;
/// By stage: a function that calls leave() for the communicators of the stage, or is empty. It must not call the queue.
using LeaveStages = std::array<std::function<void(const FailurePtr& failure)>, kStages>;

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
  /// The reason why the collective fails while earlier ones go on: a rank has left a communicator of a stage, or the
  /// collective stands for all that this process does not begin. Null if there is none.
  FailurePtr failure = nullptr;
  bool told = false;  // the listeners were called because the collective is over

  bool complete() const { return stage == kStages; }
  bool over() const { return complete() || failure; }
};

/// The staged collectives of one communicator, in this process, that are not complete. All ranks of a communicator that
/// the stages use must begin its collectives in the same order. Therefore the queue begins each stage of its
/// collectives in the order in which they were added, and no two stages may use the same communicator unless all of its
/// ranks are in this process. A collective that ends because a rank has left takes its turn in its remaining stages,
/// too, and leaves their communicators then. Thread-safe.
class StageQueue {
 public:
  explicit StageQueue(LeaveStages leave_stages = {}) : leave_stages_(std::move(leave_stages)) {}

  /// Adds a collective for which `ranks` ranks of this process wait, and begins its first stage if the earlier
  /// collectives have begun theirs. If a stage throws, rethrows its exception and does not add the collective; but if
  /// the exception is Departed, advance() throws it. Throws Aborted after fail().
  std::shared_ptr<StagedCollective> add(Stages stages, std::size_t ranks = 1);
  /// Advances all collectives of the queue, the earlier ones first. Returns true if `collective` is complete then.
  /// Calls the listeners of every collective that completes or fails in this call, on this thread. Throws Departed if a
  /// stage of `collective` has thrown it. Rethrows any other exception of any of the collectives. Throws Aborted after
  /// fail().
  bool advance(const StagedCollective& collective);
  /// Fails all collectives of the queue, and calls their listeners. add() and advance() throw Aborted with `failure`
  /// from then on. Does nothing after the first call.
  void fail(const FailurePtr& failure);
  /// Leaves the communicators of every stage as soon as all collectives of the queue have begun the stage.
  void leave(const FailurePtr& failure);
  /// Removes a collective from the queue, unless it leaves communicators in its remaining stages. Returns true if the
  /// collective is over.
  bool remove(const StagedCollective& collective);
  /// Destroys the work of the current stage of a collective that was removed, so that the work does not write to the
  /// caller's tensors any more.
  void drop_stage(StagedCollective& collective);
  std::string waits_for(const StagedCollective& collective) const;

 private:
  std::shared_ptr<StagedCollective> make(Stages stages, std::size_t ranks);
  void begin_stage(StagedCollective& collective);
  void leave_rest(StagedCollective& collective, const FailurePtr& failure);
  void advance_one(StagedCollective& collective);

  const LeaveStages leave_stages_;
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
  /// throws another exception than Departed, or if the work is destroyed before the collective is over. `give_up` must
  /// fail the collective on the other ranks.
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
  /// machines may not belong to the communicator that failed, and learn of the failure through give_up_ alone. They
  /// learn of Departed through the communicators that the queue leaves.
  template <class Function>
  auto or_give_up(Function function);

  std::shared_ptr<StageQueue> queue_;
  GiveUp give_up_;
  std::shared_ptr<StagedCollective> collective_;
};

}  // namespace troupe::hierarchy
