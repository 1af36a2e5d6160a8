#include "troupe/actors/segment/collective_starts.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// True if the edge leads from a conductor to the collectives that it begins.
bool carries_collective(const Plan& plan, EdgeId id) {
  if (id == kNone) return false;
  const auto& edge = plan.edges[id];
  const auto is_collective = [&](const PlanConsumer& consumer) {
    return plan.actors[consumer.actor].role == ActorRole::collective;
  };
  return plan.actors[edge.producer].role == ActorRole::conductor && std::ranges::any_of(edge.consumers, is_collective);
}

}  // namespace

std::shared_ptr<CollectiveStart>* CollectiveStarts::place_of(const Plan& plan, const PlanActor& actor) {
  if (actor.role == ActorRole::conductor)
    for (const auto& output : actor.outputs)
      if (carries_collective(plan, output.edge)) return &starts_[output.edge];
  if (actor.role == ActorRole::collective)
    for (const auto& input : actor.inputs)
      if (carries_collective(plan, input.edge)) return &starts_[input.edge];
  return nullptr;
}

std::shared_ptr<CollectiveStart> CollectiveStarts::on(EdgeId edge) const {
  const auto place = starts_.find(edge);
  return place == starts_.end() ? nullptr : place->second;
}

void CollectiveStarts::clear() {
  for (auto& [edge, start] : starts_) start = nullptr;
}

}  // namespace troupe
