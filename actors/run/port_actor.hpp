#pragma once

#include <caf/event_based_actor.hpp>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/credits.hpp"
#include "troupe/actors/run/messages.hpp"

namespace troupe {

/// Base of a user's own actor in a plan. It keeps the credits; a subclass says what happens in a firing. Such an actor
/// is an actor of CAF like any other: it may have handlers for messages of its own and send what it likes to whom it
/// likes.
///
/// An actor without inputs is a source. Everything runs on the threads of the actor system; a handler must not wait.
class PortActor : public caf::event_based_actor {
 public:
  explicit PortActor(caf::actor_config& config);

  caf::behavior make_behavior() final;

 protected:
  /// Called when every input holds a tensor and every output has a free slot. `outputs` must be set to tensors of the
  /// shapes that the plan says; inputs are returned afterwards, so keep a clone of what you need longer. An exception
  /// fails the step: its text is reported, and what depends on it is not computed.
  virtual void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor> outputs) = 0;
  /// For sources: whether there is a step with this number. Steps of one run are numbered on from the run before.
  virtual bool has_step(std::int64_t /*step*/) { return true; }
  /// Handlers for messages of one's own.
  virtual caf::message_handler own_handlers() { return {}; }

 private:
  struct Input {
    InputWire wire;
    InputQueue queue{1};
    bool ended = false;
  };
  struct Output {
    OutputWire wire;
    OutputSlots slots{1, 0};
  };

  void wire(Wire& order);
  void begin(const Begin& order);
  void arrive(TensorReady& ready);
  void work();
  bool can_fire() const;
  void fire_once();
  FailurePtr fire_guarded(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void send_outputs(std::span<const Tensor> outputs, const FailurePtr& failure);
  void return_credit(Input& input, std::uint32_t slot);
  void end();
  void report_if_finished();
  std::string waits_for() const;
  bool is_source() const;

  std::shared_ptr<HostStatus> status_;
  caf::actor supervisor_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::int64_t step_ = 0;
  std::int64_t until_ = 0;
  bool open_ = false;
  bool ended_ = true;
  bool finished_ = true;
};

/// A plan actor that is a user's own: `external<MyActor>("mine", {{Shape{kBatch, 10}, DType::float32}}, arguments...)`,
/// where the list says what the outputs are. Inputs are connected afterwards. The arguments are copied.
template <class Actor, class... Arguments>
PlanActor external(std::string name, std::vector<TensorInfo> outputs, Arguments... arguments) {
  PlanActor actor;
  actor.name = std::move(name);
  actor.role = ActorRole::external;
  for (const auto& info : outputs) actor.outputs.push_back({kNone, info, {}, kNone, {}});
  actor.spawn_external = [=](caf::actor_system& system) {
    return caf::actor_cast<caf::actor>(system.spawn<Actor>(arguments...));
  };
  return actor;
}

}  // namespace troupe
