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

/// Base of a user's actor in a plan. It implements the credit protocol; a subclass defines what happens in a firing, or
/// the rule by which the actor fires. The actor is an ordinary CAF actor: it may have handlers for its own messages and
/// send any message to any actor by tell(*this, receiver, message).
///
/// All functions run on the threads of the actor system and must not block.
class PortActor : public Participant {
 public:
  explicit PortActor(caf::actor_config& config) : Participant(config) {}

 protected:
  /// Whether a source has a step: now, not yet (see poll_again()), or never again in this run.
  enum class Next { fire, wait, end };

  // ---- The default rule: one firing per step, when every input holds a tensor and every output has a free slot.

  /// Computes the outputs of one step. Each element of `outputs` must be set to a tensor of the shape in the plan; an
  /// output without consumers may stay unset. Inputs are returned afterwards: clone a tensor to keep it longer. An
  /// exception fails the step: its text is reported, and the work that depends on the step is not done. EndRun, thrown
  /// once the outputs are set, ends the run in order.
  virtual void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// For sources: whether there is a step with this number. A run begins with the first step of its RunInfo.
  virtual bool has_step(std::int64_t /*step*/) { return true; }
  /// For sources that may have to wait: called before every firing, and again after poll_again().
  virtual Next next(std::int64_t step) { return has_step(step) ? Next::fire : Next::end; }
  /// For sources: the number of steps that the run that has just begun can have, if it is known. See Task::steps_left.
  virtual std::optional<std::int64_t> steps_left() { return std::nullopt; }

  // ---- A custom firing rule: override advance(), and declare FiringRule::own in the plan.

  /// Takes and sends the tensors that the rule allows now. Called whenever a tensor has arrived, a slot is free, an
  /// input has ended or a run has started. It may take from some inputs only, keep taken tensors over several calls,
  /// and send many times for one input or once for many.
  virtual void advance();
  /// All consumers have returned a slot of an output.
  virtual void on_slot_free(std::uint32_t /*output*/, std::uint32_t /*slot*/) {}
  /// The tensor that an initial token of an output carries at first. Throws Error if it is not overridden.
  virtual Tensor initial_token(std::uint32_t output);

  bool has(std::uint32_t input) const { return ports_.has(input); }
  Arrival take(std::uint32_t input);
  /// Returns a tensor that was taken; drop all handles to it first.
  void give_back(std::uint32_t input, Arrival& arrival);
  /// Returns a tensor that was taken but not used because another input that the actor needs was lost; drop all handles
  /// to it first. See was_refused().
  void refuse(std::uint32_t input, Arrival& arrival);
  /// Whether no more tensors arrive at the input in this run and all that arrived have been taken.
  bool ended(std::uint32_t input) const { return ports_.drained(input); }
  /// Whether the input has ended because the process of its producer was lost.
  bool lost(std::uint32_t input) const { return ports_.lost(input); }
  bool has_free(std::uint32_t output) const { return ports_.has_free(output); }
  /// For on_slot_free(): whether a consumer has refused the tensor that the slot carried.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const { return ports_.was_refused(output, slot); }
  /// Sends a tensor and returns its slot. The tensor must not be written to until the slot is free again.
  std::uint32_t send_output(std::uint32_t output, Tensor tensor, std::int64_t step);
  /// Sends a failure in place of a tensor and returns its slot.
  std::uint32_t send_failure(std::uint32_t output, const FailurePtr& failure, std::int64_t step);
  std::uint32_t inputs() const { return ports_.inputs(); }
  std::uint32_t outputs() const { return ports_.outputs(); }
  /// Ends this actor's run: nothing more is sent, and the tensors that the actor holds are returned. A tensor that it
  /// sent on uncopied is returned once its consumers have returned it. An actor that follows its inputs ends when all
  /// of them have ended and every tensor that it took is returned.
  void end();

  // ---- For both rules

  /// Parameter i of those that this actor holds according to the plan. Throws Error unless a run is in progress.
  const Tensor& parameter(std::size_t i) const;
  /// Writes to parameter i and counts one update of it. If `write` throws, the parameter is broken after the run.
  void update_parameter(std::size_t i, const std::function<void(const Tensor& parameter)>& write);
  /// Writes to all parameters that this actor writes to, and counts one update of each. If `write` throws, they are
  /// broken after the run.
  void update_parameters(const std::function<void()>& write);
  /// Writes to all parameters that this actor writes to, as a part of their last update. If `write` throws, they are
  /// broken after the run.
  void amend_parameters(const std::function<void()>& write);
  /// The number of updates of parameter i.
  std::int64_t updates_of(std::size_t i) const;
  /// A run is about to start.
  virtual void on_run(const RunInfo& /*run*/) {}
  /// Call this in a handler of own_handlers() that makes a firing possible.
  void poll_again() { work(); }
  /// For sources: the step before which the run ends at the latest.
  std::int64_t end_step() const { return end_step_; }
  /// For sources with their own firing rule: whether they may send now. False before the run has started and while it
  /// is paused.
  bool is_open() const { return open_; }
  std::int64_t step() const { return step_; }

  /// The exception that is being handled, as a failure of the step after the highest one sent.
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
  std::int64_t next_step_ = 0;  // the step after the highest one sent
  std::int64_t end_step_ = 0;
  bool open_ = false;
  bool ended_ = true;
  bool finished_ = true;
  bool working_ = false;
};

/// The inputs, the outputs and the firing rule of an external actor.
struct ExternalPorts {
  std::vector<TensorInfo> inputs = {};
  std::vector<TensorInfo> outputs = {};
  /// Default: an actor without inputs is a source, others follow their inputs.
  std::optional<Pacing> pacing = {};
  FiringRule rule = FiringRule::all_inputs;
  /// The parameters of the store that the actor holds. The plan must have them; see Plan::add_parameter.
  std::vector<HeldParameter> parameters = {};
};

/// An external actor without a function that spawns it. Use external(), or set PlanActor::spawn_external.
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

/// A plan actor of a user's class: `external<MyActor>("mine", {.inputs = {...}, .outputs = {...}}, arguments...)`.
/// The inputs are connected afterwards, in the order of `inputs`. The arguments are copied.
template <class Actor, class... Arguments>
PlanActor external(std::string name, ExternalPorts ports, Arguments... arguments) {
  auto actor = external_actor(std::move(name), std::move(ports));
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext&) {
    return caf::actor_cast<caf::actor>(system.spawn<Actor>(arguments...));
  };
  return actor;
}

}  // namespace troupe
