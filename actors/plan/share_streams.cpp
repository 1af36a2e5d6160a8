#include "troupe/actors/plan/share_streams.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "troupe/actors/plan/chains.hpp"

namespace troupe {

namespace {

bool waits_for_other_processes(const PlanCommunicator& communicator) {
  return !communicator.devices.empty() &&
         std::ranges::adjacent_find(communicator.processes, std::not_equal_to{}) != communicator.processes.end();
}

bool may_share(const Plan& plan, const PlanSegment& segment) {
  return !is_host(segment.place.device) && std::ranges::all_of(segment.actors, [&](ActorId id) {
    return can_contract(plan.actors[id]) && plan.actors[id].pacing != Pacing::source;
  });
}

}  // namespace

void share_streams(Plan& plan, const Dependencies& dependencies) {
  if (std::ranges::any_of(plan.communicators, waits_for_other_processes)) return;
  if (std::ranges::none_of(plan.segments, [&](const auto& segment) { return may_share(plan, segment); })) return;
  const auto grouping = chains(plan, dependencies);
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<PlanSegment*>> members;
  for (auto& segment : plan.segments)
    if (may_share(plan, segment))
      members[{segment.executor, grouping.group[segment.actors.front()]}].push_back(&segment);
  std::int32_t streams = 0;
  for (const auto& [chain, segments] : members) {
    if (segments.size() == 1) continue;
    for (auto* segment : segments) segment->stream = streams;
    ++streams;
  }
}

}  // namespace troupe
