#pragma once

#include <caf/event_based_actor.hpp>
#include <memory>
#include <string>

#include "troupe/actors/messages/end_run.hpp"
#include "troupe/actors/messages/run_status.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/store/held_parameters.hpp"

namespace troupe {

/// An actor that takes part in a plan: it has ports, is prepared for runs, tells its supervisor what happens, and goes
/// when the supervisor does. Subclasses say what they do with tensors; see SegmentActor, PortActor and LinkActor.
///
/// Every handler here but those of Wire and Stop ends with work(), to do what the message made possible; handlers of
/// subclasses call it themselves.
class Participant : public caf::event_based_actor, protected PortsListener {
 public:
  explicit Participant(caf::actor_config& config);

  caf::behavior make_behavior() final;
  void on_exit() override;

  /// Reports that work failed. Returns the failure, with the rank filled in, that is sent in place of the outputs.
  FailurePtr on_work_failed(Failure failure) override;
  void report_failure(const FailurePtr& failure);
  /// Reports that work of this step is done and that the run is to end.
  void report_end(const EndRun& end);

 protected:
  // What the supervisor orders. Exceptions of on_prepare fail the run.
  virtual void on_wired() {}
  /// A run is about to start. Returns the step before which its sources here will end, if they know.
  virtual std::int64_t on_prepare(const PrepareRun& order) = 0;
  /// Sources stop; returns the first step that they have not emitted.
  virtual std::int64_t on_pause() { return 0; }
  /// Sources go on, up to, not including, that step.
  virtual void on_run_until(std::int64_t /*end_step*/) {}
  virtual void describe(StallReport& report) = 0;
  /// Drop all handles that are not in the ports.
  virtual void on_stop() {}
  /// Does whatever can be done now.
  virtual void work() = 0;
  /// Whether it is a stall if this actor completes no firing for long.
  virtual bool is_watched() const { return true; }
  /// Further handlers.
  virtual caf::message_handler own_handlers() { return {}; }

  const std::string& name_in_plan() const { return status_->name; }
  int rank() const { return rank_; }
  /// The part at the other end of a link is gone: the run cannot drain.
  void lose_peer(const FailurePtr& failure);
  /// Everything here has ended and every slot is at rest.
  void report_finished();
  /// The step that this actor is in, for the report of its death.
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
