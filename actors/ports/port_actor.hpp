#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/ports/held_arrivals.hpp"
#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/ports/refusals.hpp"
#include "troupe/actors/ports/sent_tensors.hpp"

namespace troupe {

/// Base of a user's actor in a plan. It implements the credit protocol, by which a producer sends a tensor only in a
/// free slot of an edge (see Ports); a subclass defines what happens in a firing, or the rule by which the actor fires.
/// The actor is an ordinary CAF actor: it may have handlers for its own messages and send any message to any actor by
/// tell(*this, receiver, message). A source is an actor without inputs, or one whose inputs all have initial tokens,
/// which are tensors that wait at an input when a run begins.
///
/// The virtual functions are called on a thread of the actor system, one at a time, and must not block.
class PortActor : public Participant {
 public:
  explicit PortActor(caf::actor_config& config) : Participant(config) {}

 protected:
  /// The state of a source's next step: the source can fire the step now (fire), can fire it later (wait, see
  /// poll_again()), or has no further step in this run (end).
  enum class Next { fire, wait, end };

  // ---- The default rule: one firing per step, when every input holds a tensor and every output has a free slot.

  /// Computes the outputs of one step. Each element of `outputs` must be set to a tensor of the shape and dtype in the
  /// plan; an output without consumers may stay unset. The inputs are returned to their producers after the call: clone
  /// a tensor to keep it longer, or to send it. An output that shares memory with an input fails the step, unless this
  /// actor is the producer of the input. The elements of an output must not change before its slot is free: the actor
  /// may keep a handle and send the tensor again, but may not write to it; see SentTensors. An exception fails the
  /// step: the actor reports it to the supervisor, and the consumers get a failure in place of the outputs. EndRun,
  /// thrown once the outputs are set, completes the step and ends the run. If an input carries a failure, fire() is not
  /// called and the outputs carry the same failure.
  virtual void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// For sources: whether the source has data for this step. The first step of a run is RunInfo::first_step.
  virtual bool has_step(std::int64_t /*step*/) { return true; }
  /// For sources that may have to wait: the state of this step. Called before every firing, possibly several times for
  /// one step, and again by poll_again().
  virtual Next next(std::int64_t step) { return has_step(step) ? Next::fire : Next::end; }
  /// For sources: the number of steps for which there is data in the run that is about to start; std::nullopt if the
  /// number is unknown. Called after on_run(). See Task::steps_left().
  virtual std::optional<std::int64_t> steps_left() { return std::nullopt; }

  // ---- A custom firing rule: override advance(), and declare FiringRule::own in the plan.

  /// Takes and sends the tensors that the firing rule allows now. Called whenever a tensor has arrived, a slot has
  /// become free, an input has ended or a run has started, and by poll_again(). An override may take from some inputs
  /// only, keep taken tensors over several calls, and send many times for one input or once for many. An exception is
  /// reported as the failure of a step and ends this actor's run. The default implements the default rule.
  virtual void advance();
  /// Called when all consumers have returned a slot of an output, unless this actor has ended its run. If a consumer
  /// has refused the tensor, the override must call was_refused(), and may send the tensor again; see
  /// tolerate_losses(). An exception is reported as the failure of a step and ends this actor's run.
  virtual void on_slot_free(std::uint32_t /*output*/, std::uint32_t /*slot*/) {}
  /// Returns the tensor that each initial token of the output carries in the first run. In a later run a token carries
  /// the tensor that was sent last in the token's slot; initial_token() is called again only if a failure was sent in
  /// place of that tensor. The default throws Error.
  virtual Tensor initial_token(std::uint32_t output);

  // The functions with a number of an input, an output or a slot throw Error if there is none of that number.

  bool has(std::uint32_t input) const { return ports_.has(expect_input(input)); }
  Arrival take(std::uint32_t input);
  /// Returns a taken tensor to its producer; drop all other handles to the tensor first. Throws Error if the actor does
  /// not hold the tensor, or if a slot of an output still carries some of its memory.
  void give_back(std::uint32_t input, Arrival& arrival);
  /// Like give_back(), for a tensor that the actor has not used because another input that it needs was lost. In the
  /// producer of the tensor, was_refused() then returns true.
  void refuse(std::uint32_t input, Arrival& arrival);
  /// Whether no more tensors arrive at the input in this run and all that arrived have been taken. On an edge with
  /// initial tokens, the last InputWire::initial_tokens tensors need not be taken: the next run begins with them.
  bool ended(std::uint32_t input) const { return ports_.drained(expect_input(input)); }
  /// Whether the input has ended because the process of its producer was lost.
  bool lost(std::uint32_t input) const { return ports_.lost(expect_input(input)); }
  /// Whether the actor may send a tensor now: the output has a free slot, and lost_output() is false.
  bool has_free(std::uint32_t output) const { return ports_.has_free(expect_output(output)) && !lost_output(output); }
  /// Whether the output leads to lost processes alone in this run. It stays so until the end of the run. The tensors
  /// that were on their way come back refused.
  bool lost_output(std::uint32_t output) const { return ports_.lost_output(expect_output(output)); }
  /// For on_slot_free(): whether a consumer has refused the tensor that the slot carried last, by refuse() or because
  /// its process was lost.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const;
  /// Declares that tensors that come back refused need not be sent again. Without this call, the run of an actor with
  /// its own firing rule fails if a tensor was refused and on_slot_free() does not call was_refused(), or is not called
  /// because the actor has ended its run.
  void tolerate_losses() { refusals_.tolerate(); }
  /// Sends a tensor and returns its slot. The tensor must not be written to until the slot is free again, which is
  /// checked only as far as SentTensors says: move the tensor, so that no handle is left. Throws Error if has_free() is
  /// false, if this actor has ended its run, if the tensor is null, or if the output has consumers and shape or dtype
  /// differ from the plan.
  std::uint32_t send_output(std::uint32_t output, Tensor tensor, std::int64_t step);
  /// Sends a failure in place of a tensor and returns its slot. Throws Error if has_free() is false, if this actor has
  /// ended its run, or if the failure is null.
  std::uint32_t send_failure(std::uint32_t output, const FailurePtr& failure, std::int64_t step);
  std::uint32_t inputs() const { return ports_.inputs(); }
  std::uint32_t outputs() const { return ports_.outputs(); }
  /// Ends this actor's run: the actor sends nothing more and returns the tensors that it holds. A held tensor whose
  /// memory the actor has sent on is returned once all slots of all outputs are free. Without this call, an actor under
  /// the default rule ends when one of its inputs has ended, and a source also after its last step. An actor with its
  /// own rule ends when all inputs have ended (an input with initial tokens counts only if every input has them) and it
  /// holds no tensor.
  void end();

  // ---- For both rules

  /// The number of ExternalPorts::parameters. Throws Error if no run is in progress.
  std::size_t parameters() const;
  /// Parameter i of ExternalPorts::parameters. Throws Error if there is no parameter i, or if no run is in progress.
  const Tensor& parameter(std::size_t i) const;
  /// Calls `write`, which writes to parameter i, and counts one update of it. If `write` throws, the parameter is
  /// half-written: later updates throw Error until the parameter store has recovered or set the parameter. Throws Error
  /// if there is no parameter i, if the actor only reads it, or if no run is in progress.
  void update_parameter(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// Calls `write`, which writes to all parameters that have HeldParameter::written, and counts one update of each. If
  /// `write` throws, all of them are half-written. Throws Error if one was half-written before, or if no run is in
  /// progress.
  void update_parameters(const std::function<void()>& write);
  /// Calls `write`, which writes to all parameters that have HeldParameter::written, as a part of their last update: no
  /// update is counted. Errors are those of update_parameters().
  void amend_parameters(const std::function<void()>& write);
  /// The number of updates of parameter i; 0 if the actor only reads it. Throws Error like parameter().
  std::int64_t updates_of(std::size_t i) const;
  /// Called when a run is about to start, after the initial tokens of the outputs were sent.
  virtual void on_run(const RunInfo& /*run*/) {}
  /// Calls advance() unless this actor has ended its run or advance() is running. Call poll_again() at the end of a
  /// handler of own_handlers() that makes a firing possible.
  void poll_again() { work(); }
  /// For sources: the step before which the run ends at the latest.
  std::int64_t end_step() const { return end_step_; }
  /// For sources with their own firing rule: whether the source may send now. False before the run has started and
  /// while the run is paused.
  bool is_open() const { return open_; }
  std::int64_t step() const { return step_; }

  /// Returns the exception that is being handled, as a failure of this actor in the step after the highest one sent.
  /// Call it in a catch clause.
  FailurePtr failure_now() const;
  /// Like failure_now(), for an actor that serves several replicas or steps: the failure of this replica at this step.
  FailurePtr failure_of(int replica, std::int64_t step) const;

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

  std::uint32_t expect_input(std::uint32_t input) const;
  std::uint32_t expect_output(std::uint32_t output) const;
  void drop_held(std::uint32_t input, const Arrival& arrival);
  std::uint32_t send_by_rule(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure, std::int64_t step);
  std::uint32_t send_slot(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure, std::int64_t step);
  void expect_run() const;
  void keep_token(std::uint32_t output, std::uint32_t slot, const Tensor& tensor);
  SentTensor token(std::uint32_t output, std::uint32_t slot);
  bool is_source() const;
  bool may_fire_now();
  void fire_once();
  void expect_own_memory(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  FailurePtr fire_guarded(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void end_with_inputs();
  void fail();
  void return_all(const std::vector<HeldArrivals::Origin>& held);
  void report_if_finished();
  std::string waits_for() const;

  HeldArrivals held_;
  SentTensors sent_tensors_;
  bool own_rule_ = true;  // advance() is overridden; false once the default advance() has run
  mutable Refusals refusals_;
  // By output and slot, for outputs with initial tokens: the tensor that was sent last.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Tensor> sent_tokens_;
  std::int64_t step_ = 0;
  std::int64_t next_step_ = 0;  // the step after the highest one sent
  std::int64_t end_step_ = 0;
  bool open_ = false;
  bool ended_ = true;
  bool finished_ = true;
  bool working_ = false;
};

/// The inputs, the outputs, the firing rule and the parameters of an external actor, which is an actor of a user's
/// class.
struct ExternalPorts {
  std::vector<TensorInfo> inputs = {};
  std::vector<TensorInfo> outputs = {};
  /// The condition that ends the actor's run. std::nullopt: Pacing::source for an actor without inputs, Pacing::follows
  /// for others.
  std::optional<Pacing> pacing = {};
  FiringRule rule = FiringRule::all_inputs;
  /// The parameters of the parameter store that the actor holds during a run. The plan must have them; see
  /// Plan::add_parameter().
  std::vector<HeldParameter> parameters = {};
};

/// Makes an external actor whose PlanActor::spawn_external is not set. The caller must set it; external() does both.
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

/// Makes a plan actor of the class Actor, which derives from PortActor: `external<MyActor>("mine", {.inputs = {...},
/// .outputs = {...}}, arguments...)`. The caller adds it to a plan and connects its inputs in the order of
/// `ports.inputs`. The arguments are copied, and passed to the constructor of Actor after the caf::actor_config.
template <class Actor, class... Arguments>
PlanActor external(std::string name, ExternalPorts ports, Arguments... arguments) {
  auto actor = external_actor(std::move(name), std::move(ports));
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext&) {
    return caf::actor_cast<caf::actor>(system.spawn<Actor>(arguments...));
  };
  return actor;
}

}  // namespace troupe
