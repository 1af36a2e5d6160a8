#include "troupe/actors/plan/run_ahead.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool is_collective(const PlanActor& actor) {
  return actor.role == ActorRole::collective || actor.role == ActorRole::conductor;
}

/// True if the edge leads from the host to a device of the same process or back, has no initial tokens and no reader in
/// another process, carries no updated parameter, and neither its producer nor a reader is a collective, the conductor
/// that begins it or an actor with its own firing rule.
bool crosses_to_device(const Plan& plan, const PlanEdge& edge) {
  const auto& producer = plan.actors[edge.producer];
  if (edge.initial_tokens > 0 || producer.outputs[edge.output].parameter || is_collective(producer)) return false;
  bool crosses = false;
  for (const auto& consumer : edge.consumers) {
    const auto& actor = plan.actors[consumer.actor];
    if (is_collective(actor) || actor.rule == FiringRule::own || actor.place.process != producer.place.process)
      return false;
    crosses = crosses || is_host(actor.place.device) != is_host(producer.place.device);
  }
  return crosses && producer.rule != FiringRule::own;
}

}  // namespace

void widen_for_run_ahead(Plan& plan) {
  for (auto& edge : plan.edges)
    if (crosses_to_device(plan, edge)) edge.capacity = std::max(edge.capacity, kRunAhead);
}

}  // namespace troupe
