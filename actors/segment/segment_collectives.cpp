// The collectives that conductors have begun, on their way through a segment.

#include <algorithm>

#include "troupe/actors/segment/segment.hpp"

namespace troupe {

namespace {

/// Whether the edge leads from a conductor to the collectives that it begins.
bool carries_collective(const Plan& plan, EdgeId id) {
  if (id == kNone) return false;
  const auto& edge = plan.edges[id];
  const auto is_collective = [&](const PlanConsumer& consumer) {
    return plan.actors[consumer.actor].role == ActorRole::collective;
  };
  return plan.actors[edge.producer].role == ActorRole::conductor && std::ranges::any_of(edge.consumers, is_collective);
}

}  // namespace

/// The place of the collective of this firing, which a conductor and the actors of its ranks share.
std::shared_ptr<CollectiveStart>* Segment::start_of(const Plan& plan, const PlanActor& actor) {
  if (actor.role == ActorRole::conductor)
    for (const auto& output : actor.outputs)
      if (carries_collective(plan, output.edge)) return &starts_[output.edge];
  if (actor.role == ActorRole::collective)
    for (const auto& input : actor.inputs)
      if (carries_collective(plan, input.edge)) return &starts_[input.edge];
  return nullptr;
}

void Segment::set_start(std::int32_t port, const std::shared_ptr<CollectiveStart>& start) {
  starts_[layout_.ports[port]] = start;
}

}  // namespace troupe
