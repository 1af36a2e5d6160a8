#include "troupe/actors/plan/chains.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "troupe/actors/plan/reachability.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

namespace {

// A small op has at most kSmallBytes of inputs and outputs together, and at most kSmallMultiplyAdds multiply-adds. Such
// an op takes a few microseconds. To hand it to another thread takes as long, because this costs messages, and because
// the operands are in another core's cache.
constexpr std::size_t kSmallBytes = std::size_t{128} << 10;
constexpr std::int64_t kSmallMultiplyAdds = std::int64_t{256} << 10;

struct Cost {
  std::size_t bytes = 0;  // the bytes of inputs and outputs
  std::int64_t multiply_adds = 0;
};

Cost cost_of(const Plan& plan, const PlanActor& actor) {
  Cost cost;
  if (!actor.task.call) return cost;
  const auto call = with_rows(*actor.task.call, plan.max_rows);
  for (const auto* infos : {&call.inputs, &call.outputs})
    for (const auto& info : *infos) cost.bytes += bytes_of(info, plan.max_rows);
  if (call.op->multiply_adds != nullptr) cost.multiply_adds = call.op->multiply_adds(call);
  return cost;
}

/// Returns the actors in the order of `dependencies`, but those for which no actor waits within a step, such as
/// updates, come last, the largest of them first.
std::vector<ActorId> largest_end_first(const Plan& plan, const Dependencies& dependencies) {
  auto actors = dependencies.order();
  const auto first_end = std::stable_partition(actors.begin(), actors.end(),
                                               [&](ActorId actor) { return !dependencies.followers()[actor].empty(); });
  const auto bytes = [&](ActorId actor) { return cost_of(plan, plan.actors[actor]).bytes; };
  std::stable_sort(first_end, actors.end(), [&](ActorId a, ActorId b) { return bytes(a) > bytes(b); });
  return actors;
}

using Lists = std::vector<std::vector<ActorId>>;

class ChainCover {
 public:
  ChainCover(const Plan& plan, const Dependencies& dependencies)
      : plan_(plan),
        dependencies_(dependencies),
        small_(plan.actors.size()),
        grouping_{std::vector<std::int32_t>(plan.actors.size()), {}} {
    for (std::size_t i = 0; i < small_.size(); ++i) small_[i] = is_small(plan, plan.actors[i]);
    sort(dependencies);
    const auto all = data_successions(dependencies);
    reachability_ = std::make_unique<Reachability>(plan.actors.size(), grouping_.order, all);
    previous_.resize(plan.actors.size());
    Lists next(plan.actors.size());
    for (const auto& [from, to] : all) next[from].push_back(to);
    for (const auto& edge : all)
      if (std::ranges::none_of(next[edge.first],
                               [&](auto other) { return reachability_->reaches(other, edge.second); }))
        previous_[edge.second].push_back(edge.first);
  }

  Grouping cover() {
    for (auto actor : grouping_.order) {
      auto& group = grouping_.group[actor] = chain_for(actor);
      if (group == kNone) {
        group = static_cast<std::int32_t>(chains_.size());
        chains_.push_back({});
      }
      auto& chain = chains_[group];
      chain.members.push_back(actor);
      if (!small_[actor]) chain.tail = actor;
    }
    return std::move(grouping_);
  }

 private:
  struct Chain {
    std::vector<ActorId> members;
    ActorId tail = kNone;  // the last member that is not small; kNone if all are small
  };

  /// Orders the actors topologically. Small actors come as early as possible, so that no actor of another chain waits
  /// for a small actor that its own chain fires only after a large one. Of several updates that follow one actor, the
  /// largest comes first and continues the chain of the actor.
  void sort(const Dependencies& dependencies) {
    std::vector<int> position(plan_.actors.size(), 0);
    for (int i = 0; const auto actor : largest_end_first(plan_, dependencies)) position[actor] = i++;
    grouping_.order = dependencies.order_by([&](ActorId actor) { return std::pair(!small_[actor], position[actor]); });
  }

  std::vector<Succession> data_successions(const Dependencies& dependencies) const {
    std::vector<Succession> all;
    for (const auto& [from, to, edge, kind, tokens] : dependencies.within_step())
      if (kind == Dependency::Kind::data && from != to) all.emplace_back(from, to);
    for (ActorId from = 0; const auto& readers : dependencies.through_own_rules()) {
      for (const auto to : readers) all.emplace_back(from, to);
      ++from;
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Returns the number of the chain that the actor continues, or kNone if the actor begins a new chain.
  std::int32_t chain_for(ActorId actor) const {
    for (auto before : previous_[actor]) {
      const auto group = grouping_.group[before];
      if (may_join(actor, group)) return group;
    }
    return kNone;
  }

  bool may_join(ActorId actor, std::int32_t group) const {
    const auto& chain = chains_[group];
    const auto &candidate = plan_.actors[actor], &head = plan_.actors[chain.members.front()];
    if (dependencies_.is_alone(actor) || !can_contract(candidate) || !can_contract(head) ||
        candidate.place != head.place || candidate.replica != head.replica)
      return false;
    if (!small_[actor] && chain.tail != kNone && !reachability_->reaches(chain.tail, actor)) return false;
    return std::ranges::all_of(previous_[actor], [&](ActorId before) {
      return grouping_.group[before] == group || is_over(before, chain.members.front());
    });
  }

  /// True if `actor` has always fired before `before` may fire: `before` depends on `actor`, or on a later member of
  /// the chain of `actor`.
  bool is_over(ActorId actor, ActorId before) const {
    const auto& members = chains_[grouping_.group[actor]].members;
    return std::any_of(std::ranges::find(members, actor), members.end(),
                       [&](ActorId member) { return reachability_->reaches(member, before); });
  }

  const Plan& plan_;
  const Dependencies& dependencies_;
  std::vector<bool> small_;
  Grouping grouping_;
  std::unique_ptr<Reachability> reachability_;
  Lists previous_;  // by actor: the actors that it directly follows (chains.hpp)
  std::vector<Chain> chains_;
};

}  // namespace

bool is_small(const Plan& plan, const PlanActor& actor) {
  if (!actor.task.call) return false;
  const auto cost = cost_of(plan, actor);
  return cost.bytes <= kSmallBytes && cost.multiply_adds <= kSmallMultiplyAdds;
}

bool can_contract(const PlanActor& actor) {
  const bool in_place =
      std::ranges::any_of(actor.outputs, [](const PlanOutput& output) { return output.alias_of != kNone; });
  return !in_place && !actor.alone && actor.role != ActorRole::collective && actor.role != ActorRole::conductor &&
         actor.role != ActorRole::external;
}

Grouping every_actor_alone(const Plan& plan, const Dependencies& dependencies) {
  Grouping grouping{std::vector<std::int32_t>(plan.actors.size()), dependencies.grouping_order()};
  std::iota(grouping.group.begin(), grouping.group.end(), 0);
  return grouping;
}

Grouping chains(const Plan& plan, const Dependencies& dependencies) {
  return ChainCover(plan, dependencies).cover();
}

}  // namespace troupe
