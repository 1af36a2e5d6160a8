#include "troupe/actors/plan/grain.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/share_memory.hpp"

namespace troupe {

namespace {

bool can_contract(const PlanActor& actor) {
  const bool in_place = std::any_of(actor.outputs.begin(), actor.outputs.end(),
                                    [](const PlanOutput& output) { return output.alias_of != kNone; });
  return !in_place && !actor.alone && actor.role != ActorRole::collective && actor.role != ActorRole::conductor &&
         actor.role != ActorRole::external;
}

/// How often the longest chain of waits up to an actor leaves a device or meets an actor that stays alone. Actors of
/// one device and one level can be contracted: a path from one to another through a third outside would raise the
/// level.
std::vector<int> levels_of(const Plan& plan, const std::vector<ActorId>& order) {
  std::vector<std::vector<ActorId>> after(plan.actors.size());
  for (const auto& wait : token_free_waits(plan)) after[wait.from].push_back(wait.to);
  std::vector<int> level(plan.actors.size(), 0);
  for (auto from : order) {
    for (auto to : after[from]) {
      const auto& a = plan.actors[from];
      const auto& b = plan.actors[to];
      const bool together = a.device == b.device && can_contract(a) && can_contract(b);
      level[to] = std::max(level[to], level[from] + (together ? 0 : 1));
    }
  }
  return level;
}

PlanSegment segment_of_one(const Plan& plan, ActorId actor, std::int32_t host) {
  return {plan.actors[actor].name, plan.actors[actor].device, {actor}, host};
}

/// An edge with tokens between actors of one segment leaves it and comes back: the segment takes a slot for the new
/// tensor while it still holds the old one.
void widen_loops(Plan& plan) {
  for (const auto& segment : plan.segments) {
    const auto inside = [&](ActorId actor) {
      return std::find(segment.actors.begin(), segment.actors.end(), actor) != segment.actors.end();
    };
    for (auto& edge : plan.edges) {
      const bool in_store = static_cast<bool>(plan.actors[edge.producer].outputs[edge.output].storage);
      const bool loops =
          inside(edge.producer) && std::any_of(edge.consumers.begin(), edge.consumers.end(),
                                               [&](const PlanConsumer& consumer) { return inside(consumer.actor); });
      if (loops && !in_store && edge.initial_tokens > 0)
        edge.capacity = std::max(edge.capacity, edge.initial_tokens + 1);
    }
  }
}

}  // namespace

Plan split(Plan plan) {
  plan.segments.clear();
  std::int32_t hosts = 0, conductor = kNone;
  for (auto actor : firing_order(plan)) {
    const bool conducts = plan.actors[actor].role == ActorRole::conductor;
    if (conducts && conductor == kNone) conductor = hosts++;
    plan.segments.push_back(segment_of_one(plan, actor, conducts ? conductor : hosts++));
  }
  share_memory(plan);
  return plan;
}

Plan fuse(Plan plan) {
  plan.segments.clear();
  const auto order = firing_order(plan);
  const auto level = levels_of(plan, order);
  std::int32_t hosts = 0;
  std::map<Device, std::int32_t> host_of_device;
  std::map<std::tuple<Device, int>, std::size_t> segment_at;
  for (auto actor : order) {
    const auto& device = plan.actors[actor].device;
    if (plan.actors[actor].alone || plan.actors[actor].role == ActorRole::external) {
      plan.segments.push_back(segment_of_one(plan, actor, hosts++));
      continue;
    }
    if (!host_of_device.contains(device)) host_of_device[device] = hosts++;
    if (!can_contract(plan.actors[actor])) {
      plan.segments.push_back(segment_of_one(plan, actor, host_of_device[device]));
      continue;
    }
    const auto [at, is_new] = segment_at.try_emplace({device, level[actor]}, plan.segments.size());
    if (is_new)
      plan.segments.push_back(
          {"segment " + std::to_string(level[actor]) + " of " + to_string(device), device, {}, host_of_device[device]});
    plan.segments[at->second].actors.push_back(actor);
  }
  widen_loops(plan);
  return plan;
}

}  // namespace troupe
