#pragma once

#include <caf/event_based_actor.hpp>
#include <memory>
#include <string>

#include "troupe/actors/messages/end_run.hpp"
#include "troupe/actors/messages/run_status.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/store/held_parameters.hpp"

namespace troupe {

/// An actor of a plan. It has ports, is prepared for runs, reports to its supervisor, and stops when the supervisor
/// ends. Subclasses define what happens with tensors; see SegmentActor, PortActor and LinkActor.
///
/// Every handler of this class except those of Wire and Stop ends with work(), which does what the message made
/// possible. Handlers of subclasses call work() themselves.
class Participant : public caf::event_based_actor, protected PortsListener {
 public:
  explicit Participant(caf::actor_config& config);

  caf::behavior make_behavior() final;
  void on_exit() override;

  /// Reports failed work. Returns the failure, with the rank filled in, that is sent in place of the outputs.
  FailurePtr on_work_failed(Failure failure) override;
  void report_failure(const FailurePtr& failure);
  /// Reports that the work of this step is done and that the run is to end.
  void report_end(const EndRun& end);

 protected:
  // ---- Orders of the supervisor

  virtual void on_wired() {}
  /// A run is about to start. Returns the step before which the sources of this actor end; kLastStep if their end is
  /// unknown. An exception fails the run.
  virtual std::int64_t on_prepare(const PrepareRun& order) = 0;
  /// Pauses the sources. Returns the first step that they have not emitted.
  virtual std::int64_t on_pause() { return 0; }
  /// Lets the sources fire the steps before `end_step`.
  virtual void on_run_until(std::int64_t /*end_step*/) {}
  virtual void describe(StallReport& report) = 0;
  /// Drops all handles that are not in the ports.
  virtual void on_stop() {}

  /// Does all work that is possible now.
  virtual void work() = 0;
  /// Whether this actor has stalled if it completes no firing for long.
  virtual bool is_watched() const { return true; }
  /// Handlers of further messages.
  virtual caf::message_handler own_handlers() { return {}; }

  const std::string& name_in_plan() const { return status_->name; }
  int rank() const { return rank_; }
  /// Reports that the part at the other end of a link is lost: the run cannot drain.
  void lose_peer(const FailurePtr& failure);
  /// Reports that this actor has ended and that all its slots are free.
  void report_finished();
  /// Publishes the step that this actor is in, for the report of its death.
  void note_step(std::int64_t step) { status_->step.store(step, std::memory_order_relaxed); }
  bool is_wired() const { return supervisor_ != nullptr; }

  Ports ports_;
  HeldParameters parameters_;
  std::shared_ptr<ExecutorStatus> status_ = std::make_shared<ExecutorStatus>();

 private:
  template <class Message>
  void accept(Message& message);
  void wire(Wire& order);
  void prepare(const PrepareRun& order);
  void stop();

  caf::actor supervisor_;
  int rank_ = -1;
};

}  // namespace troupe
