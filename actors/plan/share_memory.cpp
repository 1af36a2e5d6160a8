#include "troupe/actors/plan/share_memory.hpp"

#include <algorithm>

#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

namespace {

/// Below this nothing is gained.
constexpr std::size_t kSmall = 4096;
/// The tables below grow with the square of the number of actors.
constexpr std::size_t kMostActors = 8192;

using Bits = std::vector<bool>;

void unite(Bits& bits, const Bits& others) {
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (others[i]) bits[i] = true;
}

/// Which firings come after which, over all steps.
class Order {
 public:
  explicit Order(const Plan& plan)
      : within_(plan.actors.size(), Bits(plan.actors.size())), across_(within_), waits_from_(plan.actors.size()) {
    const auto trusted = [&](ActorId actor) { return plan.actors[actor].role != ActorRole::external; };
    for (const auto& wait : waits_of(plan))
      if (wait.tokens <= 1 && trusted(wait.from) && trusted(wait.to)) waits_from_[wait.from].push_back(wait);
    const auto order = firing_order(plan);
    for (auto actor = order.rbegin(); actor != order.rend(); ++actor) find_later_in_step(*actor);
    for (auto actor = order.rbegin(); actor != order.rend(); ++actor) find_later_in_next_step(*actor);
  }

  /// Firing n of `first` is over before firing n of `second` begins.
  bool before(ActorId first, ActorId second) const { return within_[first][second]; }
  /// Firing n of `first` is over before firing n + 1 of `second` begins.
  bool before_next(ActorId first, ActorId second) const { return across_[first][second]; }

 private:
  void find_later_in_step(ActorId actor) {
    for (const auto& wait : waits_from_[actor]) {
      if (wait.tokens > 0) continue;
      within_[actor][wait.to] = true;
      unite(within_[actor], within_[wait.to]);
    }
  }

  void find_later_in_next_step(ActorId actor) {
    for (const auto& wait : waits_from_[actor]) {
      if (wait.tokens == 1) across_[actor][wait.to] = true;
      unite(across_[actor], wait.tokens == 1 ? within_[wait.to] : across_[wait.to]);
    }
  }

  std::vector<Bits> within_, across_;
  std::vector<std::vector<Wait>> waits_from_;
};

bool can_share(const Plan& plan, const PlanEdge& edge) {
  const auto& producer = plan.actors[edge.producer];
  const auto& output = producer.outputs[edge.output];
  const bool in_place = output.storage || output.alias_of != kNone || !output.pack_offsets.empty();
  const auto external = [&](ActorId actor) { return plan.actors[actor].role == ActorRole::external; };
  const auto readers = returners(plan, edge);
  return edge.capacity == 1 && edge.initial_tokens == 0 && !in_place && !external(edge.producer) &&
         std::none_of(readers.begin(), readers.end(), external) && bytes_of(edge.info, plan.max_rows) >= kSmall;
}

bool comes_before(const Plan& plan, const Order& order, const PlanEdge& a, const PlanEdge& b) {
  const auto readers_of_a = returners(plan, a), readers_of_b = returners(plan, b);
  return std::all_of(readers_of_a.begin(), readers_of_a.end(),
                     [&](ActorId reader) { return order.before(reader, b.producer); }) &&
         std::all_of(readers_of_b.begin(), readers_of_b.end(),
                     [&](ActorId reader) { return order.before_next(reader, a.producer); });
}

}  // namespace

void share_memory(Plan& plan) {
  if (plan.actors.size() > kMostActors) return;
  std::vector<EdgeId> candidates;
  for (std::size_t id = 0; id < plan.edges.size(); ++id)
    if (can_share(plan, plan.edges[id])) candidates.push_back(static_cast<EdgeId>(id));
  if (candidates.size() < 2) return;
  const auto bytes = [&](EdgeId edge) { return bytes_of(plan.edges[edge].info, plan.max_rows); };
  std::stable_sort(candidates.begin(), candidates.end(), [&](EdgeId a, EdgeId b) { return bytes(a) > bytes(b); });
  const Order order(plan);
  std::vector<std::vector<EdgeId>> members;
  for (auto edge : candidates) {
    const auto fits = [&](const std::vector<EdgeId>& block) {
      return std::all_of(block.begin(), block.end(), [&](EdgeId other) {
        return comes_before(plan, order, plan.edges[edge], plan.edges[other]) ||
               comes_before(plan, order, plan.edges[other], plan.edges[edge]);
      });
    };
    const auto block = std::find_if(members.begin(), members.end(), fits);
    plan.edges[edge].block = static_cast<std::int32_t>(block - members.begin());
    if (block == members.end()) {
      members.push_back({edge});
      plan.blocks.push_back(bytes(edge));
    } else {
      block->push_back(edge);
    }
  }
}

}  // namespace troupe
