#pragma once

#include <caf/event_based_actor.hpp>
#include <memory>
#include <string>

#include "troupe/actors/messages/end_run.hpp"
#include "troupe/actors/messages/run_status.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/store/held_parameters.hpp"

namespace troupe {

/// Base of the CAF actors that run a plan. A participant exchanges tensors through its ports, carries out the orders of
/// its Supervisor, the actor that wires and watches all participants of one process's part of the plan, and reports to
/// the supervisor. A participant stops on Stop, or when the supervisor ends. A subclass defines what happens with the
/// tensors: SegmentActor runs segments (groups of plan actors that fire together), PortActor is the base of users'
/// actors, and LinkActor is the proxy of the actors of another process.
///
/// The message handlers of this class call work() last, except the handlers of Wire and Stop and, before Wire has
/// arrived, the handler of Describe. A handler that a subclass adds calls work() itself.
class Participant : public caf::event_based_actor, protected PortsListener {
 public:
  explicit Participant(caf::actor_config& config);

  caf::behavior make_behavior() final;
  void on_exit() override;

  /// Reports to the supervisor that a task, or work on a device, has failed. Returns `failure` with the rank of this
  /// process filled in, for the caller to send in place of the tensors that were not computed.
  FailurePtr on_work_failed(Failure failure) override;
  void report_failure(const FailurePtr& failure);
  /// Reports to the supervisor that a task, or PortActor::fire(), has thrown EndRun: the outputs of the step are
  /// computed, and the run ends once all steps that have begun are complete.
  void report_end(const EndRun& end);

 protected:
  // ---- Orders of the supervisor and of SpawnedPlan, which owns the actors

  virtual void on_wired() {}
  /// Prepares for a run that is about to start. Returns the step before which the sources of this actor end; a source
  /// is a task, or the actor itself, that makes data without waiting for inputs. Returns kLastStep if the actor has no
  /// source, or if the end of its sources is unknown. An exception fails the run.
  virtual std::int64_t on_prepare(const PrepareRun& order) = 0;
  /// Pauses the sources of this actor. Returns the step after the highest step that one of the sources has emitted.
  virtual std::int64_t on_pause() { return 0; }
  /// Lets the sources of this actor fire the steps before `end_step`, and end there.
  virtual void on_run_until(std::int64_t /*end_step*/) {}
  virtual void describe(StallReport& report) = 0;
  /// Drops the subclass's handles to actors and tensors. Called when the actor stops; this class drops the ports and
  /// the parameters.
  virtual void on_stop() {}

  /// Does the work, such as firings, that the messages handled so far make possible. May leave a part of the work to
  /// the call that follows the next message.
  virtual void work() = 0;
  /// Whether this actor counts as stalled if it completes no firing within WaitOptions::stall_limit.
  virtual bool is_watched() const { return true; }
  /// Returns the subclass's handlers of messages that this class does not handle.
  virtual caf::message_handler own_handlers() { return {}; }

  const std::string& name_in_plan() const { return status_->name; }
  int rank() const { return rank_; }
  /// Reports to the supervisor that the process at the other end of a link is lost. The supervisor gives the run up,
  /// because the steps that have begun cannot complete without that process.
  void lose_peer(const FailurePtr& failure);
  /// Reports to the supervisor that the run is over for this actor: it fires no more, and the slots of its outputs are
  /// free. LinkActor, which passes on tensors of other actors, reports this when a run begins: the run still lasts
  /// until the producers of these tensors have their slots back and report, too.
  void report_finished();
  /// Publishes the step that this actor is in. If the actor dies, the supervisor names this step in the failure.
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
