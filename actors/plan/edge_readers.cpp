#include "troupe/actors/plan/edge_readers.hpp"

#include <algorithm>

namespace troupe {

bool is_read_on_host(const Plan& plan, const PlanEdge& edge, const Place& place) {
  return std::ranges::any_of(edge.consumers, [&](const PlanConsumer& consumer) {
    const auto& reader = plan.actors[consumer.actor].place;
    return is_host(reader.device) || reader.process != place.process;
  });
}

bool is_on_device(const PlanActor& actor, int process) {
  return actor.place.process == process && !is_host(actor.place.device);
}

}  // namespace troupe
