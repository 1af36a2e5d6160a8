#include "troupe/actors/plan/check_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"

namespace troupe {

namespace {

/// The most slots of an edge. Every slot may hold a tensor.
constexpr std::int32_t kMostSlots = 1 << 16;

[[noreturn]] void refuse(const PlanActor& actor, const std::string& why) {
  throw Error("plan", "'" + actor.name + "' " + why);
}

void check_pacing(const Plan& plan, const PlanActor& actor) {
  const bool paced = has_input_without_tokens(plan, actor);
  if (actor.pacing == Pacing::follows && !paced) refuse(actor, "has no input that tells it when a step begins");
  if (actor.pacing == Pacing::source && paced && actor.rule == FiringRule::all_inputs)
    refuse(actor, "is declared as a source, without inputs, but reads one that tells it when a step begins");
  if (actor.pacing == Pacing::free && actor.rule == FiringRule::all_inputs)
    refuse(actor, "needs its own firing rule if nothing decides when its run ends");
}

/// Checks that an external actor reads whole tensors, since only segments make views. If it declares its inputs, also
/// checks their number, shapes and dtypes.
void check_external(const Plan& plan, const PlanActor& actor) {
  const auto& declared = actor.declared_inputs;
  if (declared && declared->size() != actor.inputs.size())
    refuse(actor, "declares " + std::to_string(declared->size()) + " inputs, but " +
                      std::to_string(actor.inputs.size()) + " are connected");
  for (std::size_t i = 0; i < actor.inputs.size(); ++i) {
    const auto& input = actor.inputs[i];
    if (input.edge == kNone || input.byte_offset != 0 || !(input.info == plan.edges[input.edge].info))
      refuse(actor, "is an external actor and cannot read views");
    if (declared && !((*declared)[i] == input.info))
      refuse(actor, "declares input " + std::to_string(i) + " as " + to_string((*declared)[i]) + ", but '" +
                        plan.edges[input.edge].name + "' carries " + to_string(input.info));
  }
}

/// Checks that a collective is in the process of its conductor, the actor that begins it. The edge between them carries
/// a collective that has begun, an object that cannot be sent to another process.
void check_collective(const Plan& plan, const PlanActor& actor) {
  for (const auto& input : actor.inputs) {
    if (input.edge == kNone) continue;
    const auto& producer = plan.actors[plan.edges[input.edge].producer];
    if (producer.role == ActorRole::conductor && producer.place.process != actor.place.process)
      refuse(actor, "is in another process than its conductor '" + producer.name + "'");
  }
}

void check_in_place(const Plan& plan, const PlanActor& actor) {
  std::set<std::int32_t> aliased_inputs;
  for (const auto& output : actor.outputs) {
    if (output.alias_of == kNone) continue;
    if (output.alias_of < 0 || output.alias_of >= static_cast<std::int32_t>(actor.inputs.size()))
      refuse(actor, "works in place on input " + std::to_string(output.alias_of) + ", which it does not have");
    const auto& input = actor.inputs[output.alias_of];
    if (input.edge == kNone) refuse(actor, "cannot work in place on an input that is no edge");
    if (output.edge != kNone && plan.edges[output.edge].initial_tokens > 0)
      refuse(actor, "cannot work in place where the output has initial tokens");
    if (!aliased_inputs.insert(output.alias_of).second)
      refuse(actor, "cannot work in place on one input for two outputs");
    if (!(output.info == input.info))
      refuse(actor, "works in place on " + to_string(input.info) + " but its output is " + to_string(output.info));
    for (const auto& consumer : plan.edges[input.edge].consumers) {
      const auto& other = plan.actors[consumer.actor];
      if (&other != &actor && other.role != ActorRole::conductor)
        refuse(actor, "works in place on what '" + other.name + "' reads too");
    }
  }
}

/// Checks the use of parameters: the plan has every parameter that an actor refers to; only external actors hold
/// parameters, which are in host memory and have the held rows; no two actors write the same rows of a parameter; and
/// no actor reads rows in the store that another actor writes.
class ParameterUse {
 public:
  explicit ParameterUse(const Plan& plan) : plan_(plan) {
    for (const auto& parameter : plan.parameters) parameters_.emplace(parameter.ref, &parameter);
  }

  void check() {
    for (const auto& actor : plan_.actors) {
      for (const auto& input : actor.inputs)
        if (input.parameter) expect_known(actor, *input.parameter);
      for (const auto& ref : updated_by(actor)) note_writer(actor, ref, {});
      for (const auto& held : actor.parameters) check_held(actor, held);
    }
    for (const auto& actor : plan_.actors) {
      for (const auto& input : actor.inputs)
        if (input.parameter) expect_unwritten(actor, *input.parameter, {});
      for (const auto& held : actor.parameters) expect_unwritten(actor, held.ref, held.rows);
    }
  }

 private:
  using Rows = std::optional<RowRange>;
  struct Writer {
    Rows rows;
    const PlanActor* actor;
  };

  const PlanParameter& expect_known(const PlanActor& actor, const ParameterRef& ref) const {
    const auto parameter = parameters_.find(ref);
    if (parameter == parameters_.end())
      refuse(actor, "refers to parameter '" + ref.name + "' of replica " + std::to_string(ref.replica) +
                        ", which the plan does not have");
    return *parameter->second;
  }

  void check_held(const PlanActor& actor, const HeldParameter& held) {
    if (actor.role != ActorRole::external) refuse(actor, "holds parameters but is not an external actor");
    const auto& [ref, info, device, initializer, trainable, per_replica] = expect_known(actor, held.ref);
    if (!is_host(device)) refuse(actor, "holds parameter '" + ref.name + "', which is on " + to_string(device));
    const auto rows = info.shape.rank() == 0 ? 0 : info.shape[0];
    if (held.rows && (held.rows->first < 0 || held.rows->count < 1 || held.rows->end() > rows))
      refuse(actor, "holds rows " + std::to_string(held.rows->first) + " to " + std::to_string(held.rows->end() - 1) +
                        " of parameter '" + ref.name + "', which is " + to_string(info));
    if (held.written) note_writer(actor, held.ref, held.rows);
  }

  void note_writer(const PlanActor& actor, const ParameterRef& ref, const Rows& rows) {
    expect_known(actor, ref);
    auto& writers = writers_[ref];
    if (const auto* other = writer_of(writers, rows))
      refuse(actor, "writes parameter '" + ref.name + "', which '" + other->actor->name + "' writes too");
    writers.push_back({rows, &actor});
  }

  static const Writer* writer_of(const std::vector<Writer>& writers, const Rows& rows) {
    const auto overlapping = std::ranges::find_if(
        writers, [&](const Writer& writer) { return !rows || !writer.rows || rows->overlaps(*writer.rows); });
    return overlapping == writers.end() ? nullptr : &*overlapping;
  }

  /// Throws Error if an actor other than `actor` writes these rows of a parameter that `actor` reads from the store;
  /// std::nullopt stands for all rows. An actor must read a parameter that another actor writes over an edge, which
  /// orders the two.
  void expect_unwritten(const PlanActor& actor, const ParameterRef& ref, const Rows& rows) const {
    const auto writers = writers_.find(ref);
    if (writers == writers_.end()) return;
    for (const auto& writer : writers->second)
      if (writer.actor != &actor && writer_of({writer}, rows) != nullptr)
        refuse(actor, "reads parameter '" + ref.name + "', which '" + writer.actor->name + "' writes at the same time");
  }

  const Plan& plan_;
  std::map<ParameterRef, const PlanParameter*> parameters_;
  std::map<ParameterRef, std::vector<Writer>> writers_;
};

/// Checks that the other processes can go on if an expendable process is lost: the process is not 0, has no rank of a
/// communicator, no source, and no output with initial tokens; and actors in other processes that read its outputs have
/// firing rules of their own.
void check_expendable(const Plan& plan) {
  const auto is_expendable = [&](int process) {
    return std::ranges::find(plan.expendable, process) != plan.expendable.end();
  };
  for (const int process : plan.expendable)
    if (process <= 0) throw Error("plan", "process " + std::to_string(process) + " cannot be expendable");
  for (const auto& communicator : plan.communicators)
    if (std::ranges::any_of(communicator.processes, is_expendable))
      throw Error("plan", "communicator '" + communicator.name + "' has a rank in an expendable process");
  for (const auto& edge : plan.edges) {
    const auto& producer = plan.actors[edge.producer];
    if (!is_expendable(producer.place.process)) continue;
    if (edge.initial_tokens > 0) refuse(producer, "is expendable, but '" + edge.name + "' has initial tokens");
    for (const auto& consumer : edge.consumers) {
      const auto& reader = plan.actors[consumer.actor];
      if (reader.place.process != producer.place.process && reader.rule != FiringRule::own)
        refuse(reader, "reads '" + edge.name + "' from an expendable process, but has no firing rule of its own");
    }
  }
  for (const auto& actor : plan.actors)
    if (actor.pacing == Pacing::source && is_expendable(actor.place.process))
      refuse(actor, "is a source, and so cannot be in an expendable process");
}

/// Checks that no two actors have one name: names identify actors in errors, stall reports and recordings.
void check_names(const Plan& plan) {
  std::set<std::string_view> names;
  for (const auto& actor : plan.actors) {
    if (!names.insert(actor.name).second)
      throw Error("plan", "two actors have the name '" + actor.name + "': give each a name of its own");
  }
}

}  // namespace

std::vector<ParameterRef> updated_by(const PlanActor& actor) {
  std::vector<ParameterRef> updated;
  for (const auto& output : actor.outputs)
    if (output.parameter && std::ranges::find(updated, *output.parameter) == updated.end())
      updated.push_back(*output.parameter);
  return updated;
}

bool has_input_without_tokens(const Plan& plan, const PlanActor& actor) {
  return std::any_of(actor.inputs.begin(), actor.inputs.end(), [&](const PlanInput& input) {
    return input.edge != kNone && plan.edges[input.edge].initial_tokens == 0;
  });
}

void check_plan(const Plan& plan) {
  if (plan.actors.empty()) throw Error("plan", "has no actors");
  if (plan.segments.empty()) throw Error("plan", "has no segments: choose a grain first (split, chain or fuse)");
  for (const auto& edge : plan.edges) {
    if (edge.consumers.empty()) throw Error("plan", "edge '" + edge.name + "' has no consumer");
    if (edge.initial_tokens < 0 || edge.capacity < std::max(1, edge.initial_tokens))
      throw Error("plan", "edge '" + edge.name + "' cannot have " + std::to_string(edge.capacity) + " slots and " +
                              std::to_string(edge.initial_tokens) + " tokens");
    if (edge.capacity > kMostSlots)
      throw Error("plan", "edge '" + edge.name + "' can have at most " + std::to_string(kMostSlots) + " slots, not " +
                              std::to_string(edge.capacity));
  }
  for (const auto& actor : plan.actors) {
    expect_name("plan", "an actor", actor.name, kMaxMadeNameBytes);
    if (actor.place.process < 0) refuse(actor, "cannot be in process " + std::to_string(actor.place.process));
    if (actor.place.device.index < 0) refuse(actor, "cannot be on " + to_string(actor.place.device));
    if (actor.role == ActorRole::op && actor.task.kind == "op" && !actor.make_task && !actor.task.call)
      refuse(actor, "is an op but does not say which");
    const bool external = actor.role == ActorRole::external;
    if (external ? !actor.spawn_external : !actor.make_task && actor.task.kind.empty())
      refuse(actor, "has nothing to do: no task was given");
    if (!external && actor.rule == FiringRule::own)
      refuse(actor, "has its own firing rule but is not an external actor");
    check_pacing(plan, actor);
    if (external) check_external(plan, actor);
    if (actor.role == ActorRole::collective) check_collective(plan, actor);
    check_in_place(plan, actor);
  }
  check_names(plan);
  ParameterUse(plan).check();
  check_expendable(plan);
}

}  // namespace troupe
