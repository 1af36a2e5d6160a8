#include "troupe/actors/plan/grain.hpp"

#include <algorithm>
#include <map>

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

/// Starts from a plan that was grouped another way, perhaps: buffers shared under that grouping no longer hold.
void ungroup(Plan& plan) {
  plan.segments.clear();
  plan.shared_buffers.clear();
  for (auto& edge : plan.edges) edge.shared_buffer = kNone;
}

/// Groups of actors that may be contracted; an actor that may not be is a group by itself.
using Groups = std::vector<std::int32_t>;

/// How often the longest chain of dependencies up to an actor leaves a group. Actors of one group and one level can be
/// contracted: a path from one to another by way of a third outside would raise the level, so no cycle without a token
/// can arise between segments. (Within a segment it cannot either, once the loops are widened.)
std::vector<int> levels_of(const Plan& plan, const Dependencies& dependencies, const Groups& groups) {
  std::vector<std::vector<ActorId>> later(plan.actors.size());
  for (const auto& dependency : dependencies.within_step())
    if (dependency.from != dependency.to) later[dependency.from].push_back(dependency.to);
  std::vector<int> level(plan.actors.size(), 0);
  for (auto from : dependencies.order())
    for (auto to : later[from]) level[to] = std::max(level[to], level[from] + (groups[from] == groups[to] ? 0 : 1));
  return level;
}

/// An edge with tokens between actors of one segment leaves it and comes back: the segment needs a slot for the new
/// tensor while it still holds the old one.
void widen_loops(Plan& plan) {
  std::vector<std::size_t> segment_of(plan.actors.size());
  for (std::size_t i = 0; i < plan.segments.size(); ++i)
    for (auto actor : plan.segments[i].actors) segment_of[actor] = i;
  for (auto& edge : plan.edges) {
    const bool loops = std::any_of(edge.consumers.begin(), edge.consumers.end(), [&](const PlanConsumer& consumer) {
      return segment_of[consumer.actor] == segment_of[edge.producer];
    });
    if (loops && !read_inside(plan, edge) && plan.actors[edge.producer].rule != FiringRule::own)
      edge.capacity = std::max(edge.capacity, edge.initial_tokens + 1);
  }
}

/// Hands out executors. Conductors of a process share one; actors of a place too, if `by_place`, unless they stay
/// alone.
class Executors {
 public:
  explicit Executors(bool by_place) : by_place_(by_place) {}

  std::int32_t of(const PlanActor& actor) {
    if (by_place_ && !actor.alone && actor.role != ActorRole::external) return shared(to_string(actor.place));
    if (actor.role == ActorRole::conductor) return shared("conductors of " + std::to_string(actor.place.process));
    return count_++;
  }

 private:
  std::int32_t shared(const std::string& key) {
    const auto [entry, is_new] = numbers_.try_emplace(key, count_);
    if (is_new) ++count_;
    return entry->second;
  }

  bool by_place_;
  std::int32_t count_ = 0;
  std::map<std::string, std::int32_t> numbers_;
};

/// Contracts each group into segments.
Plan contract(Plan plan, const Dependencies& dependencies, const Groups& groups, bool one_thread_a_place) {
  const auto level = levels_of(plan, dependencies, groups);
  Executors executors(one_thread_a_place);
  std::map<std::pair<std::int32_t, int>, std::size_t> segment_at;
  for (auto id : dependencies.order()) {
    const auto& actor = plan.actors[id];
    const auto [at, is_new] = segment_at.try_emplace({groups[id], level[id]}, plan.segments.size());
    if (is_new) plan.segments.push_back({actor.name, actor.place, {}, executors.of(actor), false});
    auto& segment = plan.segments[at->second];
    segment.actors.push_back(id);
    segment.own_thread = one_thread_a_place && segment.actors.size() > 1;
  }
  for (auto& segment : plan.segments)
    if (segment.actors.size() > 1)
      segment.name =
          "'" + plan.actors[segment.actors.front()].name + "' to '" + plan.actors[segment.actors.back()].name + "'";
  widen_loops(plan);
  check_liveness(plan, Dependencies(plan));
  return plan;
}

/// The dependencies of a plan that is not grouped, once it is known that it can run at all.
Dependencies ordered(const Plan& plan) {
  Dependencies dependencies(plan);
  if (dependencies.order().size() < plan.actors.size()) check_liveness(plan, dependencies);
  return dependencies;
}

Groups every_actor_alone(const Plan& plan) {
  Groups groups(plan.actors.size());
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<std::int32_t>(i);
  return groups;
}

Groups replicas(const Plan& plan) {
  auto groups = every_actor_alone(plan);
  std::map<std::pair<Place, int>, std::int32_t> first;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& actor = plan.actors[i];
    if (can_contract(actor)) groups[i] = first.try_emplace({actor.place, actor.replica}, groups[i]).first->second;
  }
  return groups;
}

/// A chain goes on from an actor to the only one that reads its outputs, if that one reads nothing else of this step.
Groups chains(const Plan& plan, const Dependencies& dependencies) {
  constexpr ActorId kMany = -2;
  std::vector<ActorId> next(plan.actors.size(), kNone), previous(plan.actors.size(), kNone);
  const auto note = [](ActorId& slot, ActorId actor) { slot = slot == kNone || slot == actor ? actor : kMany; };
  for (const auto& dependency : dependencies.within_step()) {
    if (dependency.kind != Dependency::Kind::data || dependency.from == dependency.to) continue;
    note(next[dependency.from], dependency.to);
    note(previous[dependency.to], dependency.from);
  }
  auto groups = every_actor_alone(plan);
  for (auto from : dependencies.order()) {
    const auto to = next[from];
    if (to < 0 || previous[to] != from) continue;
    const auto &a = plan.actors[from], &b = plan.actors[to];
    if (a.place == b.place && a.replica == b.replica && can_contract(a) && can_contract(b)) groups[to] = groups[from];
  }
  return groups;
}

}  // namespace

Plan split(Plan plan) {
  ungroup(plan);
  const auto dependencies = ordered(plan);
  const auto groups = every_actor_alone(plan);
  plan = contract(std::move(plan), dependencies, groups, false);
  share_memory(plan, dependencies);
  return plan;
}

Plan chain(Plan plan) {
  ungroup(plan);
  const auto dependencies = ordered(plan);
  const auto groups = chains(plan, dependencies);
  return contract(std::move(plan), dependencies, groups, false);
}

Plan fuse(Plan plan) {
  ungroup(plan);
  const auto dependencies = ordered(plan);
  const auto groups = replicas(plan);
  return contract(std::move(plan), dependencies, groups, true);
}

Plan in_grain(Plan plan, Grain grain) {
  switch (grain) {
    case Grain::per_op:
      return split(std::move(plan));
    case Grain::chains:
      return chain(std::move(plan));
    case Grain::fused:
      return fuse(std::move(plan));
  }
  return plan;
}

}  // namespace troupe
