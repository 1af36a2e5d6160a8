#include "troupe/actors/plan/plan_text.hpp"

#include "troupe/ops/core/text_stream.hpp"

namespace troupe {

namespace {

const char* name_of(ActorRole role) {
  constexpr const char* kRoleNames[] = {"op", "source", "sink", "collective", "conductor", "external"};
  return kRoleNames[static_cast<std::size_t>(role)];
}

void write_actor(std::ostream& out, const Plan& plan, const PlanActor& actor) {
  out << name_of(actor.role) << " " << actor.name << " on " << to_string(actor.place) << " replica " << actor.replica;
  if (actor.task.call && !actor.task.call->attributes.entries().empty())
    out << " (" << to_string(actor.task.call->attributes) << ")";
  if (!actor.task.attributes.entries().empty()) out << " (" << to_string(actor.task.attributes) << ")";
  if (!actor.task.subject.empty()) out << " of '" << actor.task.subject << "'";
  if (actor.rule == FiringRule::own) out << ", fires by its own rule";
  for (const auto& held : actor.parameters) {
    out << (held.written ? ", writes '" : ", reads '") << held.ref.name << "'";
    if (held.rows) out << " rows " << held.rows->first << " to " << held.rows->end() - 1;
  }
  out << "\n";
  for (const auto& output : actor.outputs) {
    if (output.edge == kNone) continue;
    const auto& edge = plan.edges[output.edge];
    out << "  " << edge.name << ": " << to_string(edge.info) << ", capacity " << edge.capacity << ", tokens "
        << edge.initial_tokens;
    if (output.parameter) out << ", in place of '" << output.parameter->name << "'";
    out << " ->";
    for (const auto& consumer : edge.consumers)
      out << " " << plan.actors[consumer.actor].name << "[" << consumer.input << "]";
    out << "\n";
  }
}

void write_parameter(std::ostream& out, const PlanParameter& parameter) {
  constexpr const char* kInitializers[] = {"constant",       "glorot_uniform", "he_uniform",
                                           "fan_in_uniform", "uniform",        "normal"};
  out << "parameter " << parameter.ref.name << " of replica " << parameter.ref.replica << ": "
      << to_string(parameter.info) << " on " << to_string(parameter.device) << ", starts as "
      << kInitializers[static_cast<std::size_t>(parameter.initializer.kind)] << " " << parameter.initializer.value
      << (parameter.trainable ? "" : ", not trained") << (parameter.per_replica ? ", of one replica" : "") << "\n";
}

}  // namespace

std::string to_text(const Plan& plan) {
  TextStream out;
  for (const auto& actor : plan.actors) write_actor(out, plan, actor);
  for (const auto& parameter : plan.parameters) write_parameter(out, parameter);
  for (const auto& communicator : plan.communicators)
    out << "communicator '" << communicator.name << "' of " << communicator.processes.size() << " ranks, sums "
        << to_string(communicator.all_reduce) << (communicator.devices.empty() ? "" : ", on devices") << "\n";
  for (const auto process : plan.expendable) out << "process " << process << " may be lost\n";
  for (const auto& segment : plan.segments) {
    out << "segment " << segment.name << ", executor " << segment.executor;
    if (segment.stream != kNone) out << ", stream " << segment.stream;
    out << ":";
    for (auto actor : segment.actors) out << " " << plan.actors[actor].name;
    out << "\n";
  }
  return out.str();
}

}  // namespace troupe
