#include "troupe/actors/plan/grain.hpp"

#include <algorithm>
#include <map>

#include "troupe/actors/plan/chains.hpp"
#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/reachability.hpp"
#include "troupe/actors/plan/run_ahead.hpp"
#include "troupe/actors/plan/share_executors.hpp"
#include "troupe/actors/plan/share_memory.hpp"
#include "troupe/actors/plan/share_streams.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Drops an earlier grouping, and the shared buffers, which depend on the grouping.
void ungroup(Plan& plan) {
  plan.segments.clear();
  plan.shared_buffers.clear();
  for (auto& edge : plan.edges) {
    edge.shared_buffer = kNone;
    edge.shared_offset = 0;
  }
}

/// Returns the level of every actor: the largest number of steps from one group to another along a path of dependencies
/// that leads to the actor. A wait through actors with their own firing rule is such a step, too. Actors of one group
/// and one level can be contracted: a path from one to the other through another group would raise the level, so no
/// cycle without a token can arise between segments. No such cycle arises within a segment either, once widen_loops()
/// has run.
std::vector<int> levels_of(const Plan& plan, const Dependencies& dependencies, const Grouping& grouping) {
  std::vector<int> level(plan.actors.size(), 0);
  for (auto from : grouping.order) {
    for (auto to : dependencies.followers()[from])
      level[to] = std::max(level[to], level[from] + (grouping.group[from] == grouping.group[to] ? 0 : 1));
    for (auto to : dependencies.through_own_rules()[from]) level[to] = std::max(level[to], level[from] + 1);
  }
  return level;
}

/// Gives an edge with initial tokens that leads from a segment back to itself at least one slot more than tokens,
/// because the segment fills a slot with the new tensor while it still holds the old one. Edges that are read without a
/// message (read_inside), and edges of actors with their own firing rule, keep their capacity.
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

/// Numbers the executors, the actors that run segments. With `by_place` each place has one executor. Without `by_place`
/// each actor on the host has one, the actors of a device share one, since they only launch work, and the conductors of
/// a process, which begin its collectives, share one. External actors and actors with PlanActor::alone always have
/// executors of their own.
class ExecutorNumbers {
 public:
  explicit ExecutorNumbers(bool by_place) : by_place_(by_place) {}

  std::int32_t of(const PlanActor& actor) {
    if (is_by_place(actor)) return shared(to_string(actor.place));
    if (actor.role == ActorRole::conductor) return shared("conductors of " + std::to_string(actor.place.process));
    return count_++;
  }

 private:
  std::int32_t shared(const std::string& key) {
    const auto [entry, is_new] = numbers_.try_emplace(key, count_);
    if (is_new) ++count_;
    return entry->second;
  }

  bool is_by_place(const PlanActor& actor) const {
    if (actor.alone || actor.role == ActorRole::external) return false;
    return by_place_ || (!is_host(actor.place.device) && actor.role != ActorRole::conductor);
  }

  bool by_place_;
  std::int32_t count_ = 0;
  std::map<std::string, std::int32_t> numbers_;
};

/// True if the actor is on a device and does nothing on the host but launch work.
bool launches_only(const PlanActor& actor) {
  return !is_host(actor.place.device) && can_contract(actor);
}

/// Makes one segment of the actors that have the same group and the same level (levels_of). `one_thread_a_place`: the
/// segments of a place get one executor; see ExecutorNumbers.
void contract(Plan& plan, const Dependencies& dependencies, const Grouping& grouping, bool one_thread_a_place) {
  const auto level = levels_of(plan, dependencies, grouping);
  ExecutorNumbers executors(one_thread_a_place);
  std::map<std::pair<std::int32_t, int>, std::size_t> segment_at;
  for (auto id : grouping.order) {
    const auto& actor = plan.actors[id];
    const auto [at, is_new] = segment_at.try_emplace({grouping.group[id], level[id]}, plan.segments.size());
    if (is_new) plan.segments.push_back({actor.name, actor.place, {}, executors.of(actor), false});
    auto& segment = plan.segments[at->second];
    segment.actors.push_back(id);
    segment.own_thread = one_thread_a_place ? segment.actors.size() > 1 : launches_only(actor);
  }
  for (auto& segment : plan.segments)
    if (segment.actors.size() > 1)
      segment.name =
          "'" + plan.actors[segment.actors.front()].name + "' to '" + plan.actors[segment.actors.back()].name + "'";
}

/// Returns the dependencies of a plan without segments. Throws Error that names a cycle if the actors have no order
/// because a cycle of dependencies carries no token.
Dependencies ordered(const Plan& plan) {
  Dependencies dependencies(plan);
  if (dependencies.order().size() < plan.actors.size()) check_liveness(plan, dependencies);
  return dependencies;
}

Grouping replicas(const Plan& plan, const Dependencies& dependencies) {
  auto grouping = every_actor_alone(plan, dependencies);
  std::map<std::pair<Place, int>, std::int32_t> first;
  for (std::size_t i = 0; i < plan.actors.size(); ++i) {
    const auto& actor = plan.actors[i];
    auto& group = grouping.group[i];
    if (can_contract(actor) && !dependencies.is_alone(static_cast<ActorId>(i)))
      group = first.try_emplace({actor.place, actor.replica}, group).first->second;
  }
  return grouping;
}

Grouping grouping_of(const Plan& plan, const Dependencies& dependencies, Grain grain) {
  switch (grain) {
    case Grain::per_op:
      return every_actor_alone(plan, dependencies);
    case Grain::chains:
      return chains(plan, dependencies);
    case Grain::fused:
      return replicas(plan, dependencies);
  }
  throw Error("plan", "there is no such grain");
}

constexpr std::pair<Grain, const char*> kNames[] = {
    {Grain::per_op, "per-op"}, {Grain::chains, "chains"}, {Grain::fused, "fused"}};

}  // namespace

std::string to_string(Grain grain) {
  for (const auto& [value, name] : kNames)
    if (value == grain) return name;
  return "unknown";
}

Grain parse_grain(const std::string& name) {
  for (const auto& [grain, grain_name] : kNames)
    if (grain_name == name) return grain;
  throw Error("plan", "there is no grain '" + name + "', but per-op, chains and fused");
}

Plan in_grain(Plan plan, Grain grain) {
  ungroup(plan);
  widen_for_run_ahead(plan);
  const auto dependencies = ordered(plan);
  contract(plan, dependencies, grouping_of(plan, dependencies, grain), grain == Grain::fused);
  widen_loops(plan);
  if (grain == Grain::chains) share_executors(plan, dependencies);
  if (grain != Grain::fused || plan.actors.size() <= Reachability::kMostActors)
    share_memory(plan, Dependencies(plan), grain != Grain::fused);
  if (grain != Grain::fused) share_streams(plan, dependencies);
  return plan;
}

Plan split(Plan plan) {
  return in_grain(std::move(plan), Grain::per_op);
}

Plan chain(Plan plan) {
  return in_grain(std::move(plan), Grain::chains);
}

Plan fuse(Plan plan) {
  return in_grain(std::move(plan), Grain::fused);
}

}  // namespace troupe
