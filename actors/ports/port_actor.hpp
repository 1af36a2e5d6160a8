#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/ports/held_arrivals.hpp"
#include "troupe/actors/ports/participant.hpp"

namespace troupe {

/// Base of a user's actor in a plan. It keeps the credits; a subclass says what happens in a firing, or by which
/// rule it fires. Such an actor is an actor of CAF like any other: it may have handlers for its own messages and
/// send what it likes to whom it likes, by tell(*this, receiver, message).
///
/// Everything runs on the threads of the actor system; a handler must not wait.
class PortActor : public Participant {
 public:
  explicit PortActor(caf::actor_config& config) : Participant(config) {}

 protected:
  /// Whether a source has a step: now, not yet (see poll_again()), or never again in this run.
  enum class Next { fire, wait, end };

  // ---- The usual rule: one firing per step, when every input holds a tensor and every output has a free slot.

  /// `outputs` must be set to tensors of the shapes that the plan says, except those that nobody reads; inputs are
  /// returned afterwards, so keep a clone of what you need longer. An exception fails the step: its text is reported,
  /// and what depends on it is not computed. EndRun, thrown once the outputs are set, ends the run in order.
  virtual void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// For sources: whether there is a step with this number. A run begins with the step that its RunInfo says.
  virtual bool has_step(std::int64_t /*step*/) { return true; }
  /// For sources that may have to wait: asked before every firing, and again after poll_again().
  virtual Next next(std::int64_t step) { return has_step(step) ? Next::fire : Next::end; }
  /// For sources: how many steps the run that has just begun can have, if that is known. See Task::steps_left.
  virtual std::optional<std::int64_t> steps_left() { return std::nullopt; }

  // ---- Its own firing rule: override advance(), and declare FiringRule::own in the plan.

  /// Called whenever a tensor has come, a slot is free, an input has ended or a run has started: takes and sends
  /// whatever the rule allows now. It may take from some inputs only, keep what it took over several calls, and send
  /// many times for one input or once for many.
  virtual void advance();
  /// All consumers have returned a slot of an output.
  virtual void on_slot_free(std::uint32_t /*output*/, std::uint32_t /*slot*/) {}
  /// The tensor with which an initial token of an output starts. Throws Error if it is not overridden.
  virtual Tensor initial_token(std::uint32_t output);

  bool has(std::uint32_t input) const { return ports_.has(input); }
  Arrival take(std::uint32_t input);
  /// Returns a tensor that was taken; drop all handles to it first.
  void give_back(std::uint32_t input, Arrival& arrival);
  /// Returns a tensor that was taken but not used, because what is needed besides was lost: see was_refused().
  void refuse(std::uint32_t input, Arrival& arrival);
  /// No more tensors come over the input in this run, and all that came have been taken.
  bool ended(std::uint32_t input) const { return ports_.drained(input); }
  /// The input has ended because the process of its producer was lost.
  bool lost(std::uint32_t input) const { return ports_.lost(input); }
  bool has_free(std::uint32_t output) const { return ports_.has_free(output); }
  /// For on_slot_free(): whether a consumer has refused what the slot carried.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const { return ports_.was_refused(output, slot); }
  /// Sends a tensor, which nobody may write to until the slot is free again. Returns the slot.
  std::uint32_t send_output(std::uint32_t output, Tensor tensor, std::int64_t step);
  /// Sends a failure in place of a tensor.
  std::uint32_t send_failure(std::uint32_t output, const FailurePtr& failure, std::int64_t step);
  std::uint32_t inputs() const { return ports_.inputs(); }
  std::uint32_t outputs() const { return ports_.outputs(); }
  /// Ends this actor's run: nothing more is sent, and what it holds is returned; a tensor that it sent on uncopied,
  /// when its consumers have returned it. An actor that follows its inputs is ended when all of them have ended and
  /// everything it took is returned.
  void end();

  // ---- For both.

  /// Parameter i of those that the plan says this actor holds. Throws Error unless a run is in progress.
  const Tensor& parameter(std::size_t i) const;
  /// Writes to parameter i, and counts that as an update. If `write` throws, the parameter is broken after the run.
  void update_parameter(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// As above, for all parameters that this actor writes to at once.
  void update_parameters(const std::function<void()>& write);
  /// As above, but that counts as a part of the last update.
  void amend_parameters(const std::function<void()>& write);
  /// How many updates parameter i has had.
  std::int64_t updates_of(std::size_t i) const;
  /// A run is about to start.
  virtual void on_run(const RunInfo& /*run*/) {}
  /// For handlers of the subclass's own messages, own_handlers(): one that makes a firing possible calls this.
  void poll_again() { work(); }
  /// Sources: the run may go on to this step, not including it.
  std::int64_t end_step() const { return end_step_; }
  /// Sources with a rule of their own: whether they may send now; not before the run has started, nor while it pauses.
  bool is_open() const { return open_; }
  std::int64_t step() const { return step_; }

  /// The exception that is being handled, as a failure of the step that was sent furthest.
  FailurePtr failure_now() const;

 private:
  std::int64_t on_prepare(const PrepareRun& order) final;
  std::int64_t on_pause() final;
  void on_run_until(std::int64_t end_step) final;
  void describe(StallReport& report) final;
  void on_arrival(std::uint32_t input) final;
  void on_free(std::uint32_t output, std::uint32_t slot) final;
  void on_ended(std::uint32_t) final {}
  void work() final;
  bool is_watched() const final { return false; }

  void drop_held(std::uint32_t input, const Arrival& arrival);
  std::uint32_t send_by_rule(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure, std::int64_t step);
  std::uint32_t send_slot(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure, std::int64_t step);
  void expect_run() const;
  void keep_token(std::uint32_t output, std::uint32_t slot, const Tensor& tensor);
  SentTensor token(std::uint32_t output, std::uint32_t slot);
  bool is_source() const;
  bool may_fire_now();
  void fire_once();
  FailurePtr fire_guarded(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void end_with_inputs();
  void fail();
  void return_all(const std::vector<HeldArrivals::Origin>& held);
  void report_if_finished();
  std::string waits_for() const;

  HeldArrivals held_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Tensor> sent_tokens_;  // by output and slot
  std::int64_t step_ = 0;
  std::int64_t next_step_ = 0;  // after the furthest that was sent
  std::int64_t end_step_ = 0;
  bool open_ = false;
  bool ended_ = true;
  bool finished_ = true;
  bool working_ = false;
};

/// What an external actor reads and writes, and how it fires.
struct ExternalPorts {
  std::vector<TensorInfo> inputs = {};
  std::vector<TensorInfo> outputs = {};
  /// Default: an actor without inputs is a source, others follow their inputs.
  std::optional<Pacing> pacing = {};
  FiringRule rule = FiringRule::all_inputs;
  /// What it holds of the store; the plan must have them, see Plan::add_parameter.
  std::vector<HeldParameter> parameters = {};
};

/// An external actor that nothing spawns yet: see external(), or set PlanActor::spawn_external.
inline PlanActor external_actor(std::string name, ExternalPorts ports) {
  PlanActor actor;
  actor.name = std::move(name);
  actor.role = ActorRole::external;
  for (const auto& info : ports.outputs) actor.outputs.push_back({.info = info});
  actor.pacing = ports.pacing.value_or(ports.inputs.empty() ? Pacing::source : Pacing::follows);
  actor.rule = ports.rule;
  actor.declared_inputs = std::move(ports.inputs);
  actor.parameters = std::move(ports.parameters);
  actor.task.kind = "external";
  return actor;
}

/// A plan actor that is a user's: `external<MyActor>("mine", {.inputs = {...}, .outputs = {...}}, arguments...)`.
/// The inputs are connected afterwards, in that order. The arguments are copied.
template <class Actor, class... Arguments>
PlanActor external(std::string name, ExternalPorts ports, Arguments... arguments) {
  auto actor = external_actor(std::move(name), std::move(ports));
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext&) {
    return caf::actor_cast<caf::actor>(system.spawn<Actor>(arguments...));
  };
  return actor;
}

}  // namespace troupe
