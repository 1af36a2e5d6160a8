#include "troupe/actors/plan/share_memory.hpp"

#include <algorithm>

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
  Order(const Plan& plan, const Dependencies& dependencies)
      : within_(plan.actors.size(), Bits(plan.actors.size())), across_(within_), from_(plan.actors.size()) {
    const auto trusted = [&](ActorId actor) { return plan.actors[actor].role != ActorRole::external; };
    for (const auto& dependency : dependencies.all())
      if (dependency.tokens <= 1 && trusted(dependency.from) && trusted(dependency.to))
        from_[dependency.from].push_back(dependency);
    const auto& order = dependencies.order();
    for (auto actor = order.rbegin(); actor != order.rend(); ++actor) find_later_in_step(*actor);
    for (auto actor = order.rbegin(); actor != order.rend(); ++actor) find_later_in_next_step(*actor);
  }

  /// Firing n of `first` is over before firing n of `second` begins.
  bool before(ActorId first, ActorId second) const { return within_[first][second]; }
  /// Firing n of `first` is over before firing n + 1 of `second` begins.
  bool before_next(ActorId first, ActorId second) const { return across_[first][second]; }

 private:
  void find_later_in_step(ActorId actor) {
    for (const auto& dependency : from_[actor]) {
      if (dependency.tokens > 0 || dependency.to == actor) continue;
      within_[actor][dependency.to] = true;
      unite(within_[actor], within_[dependency.to]);
    }
  }

  void find_later_in_next_step(ActorId actor) {
    for (const auto& dependency : from_[actor]) {
      if (dependency.tokens == 1) across_[actor][dependency.to] = true;
      unite(across_[actor], dependency.tokens == 1 ? within_[dependency.to] : across_[dependency.to]);
    }
  }

  std::vector<Bits> within_, across_;
  std::vector<std::vector<Dependency>> from_;
};

/// In memory that a buffer can serve for both.
bool lie_together(const Plan& plan, EdgeId a, EdgeId b) {
  const auto& one = plan.actors[plan.edges[a].producer].place.device;
  const auto& other = plan.actors[plan.edges[b].producer].place.device;
  return one == other || (is_host(one) && is_host(other));
}

bool can_share(const Plan& plan, const PlanEdge& edge, const std::vector<ActorId>& readers) {
  const auto& producer = plan.actors[edge.producer];
  const auto& output = producer.outputs[edge.output];
  const bool in_place = output.parameter || output.alias_of != kNone || !output.pack_offsets.empty();
  const auto elsewhere = [&](ActorId id) {
    const auto& actor = plan.actors[id];
    return actor.role == ActorRole::external || actor.place.process != producer.place.process;
  };
  return edge.capacity == 1 && edge.initial_tokens == 0 && !in_place && !elsewhere(edge.producer) &&
         std::none_of(readers.begin(), readers.end(), elsewhere) && bytes_of(edge.info, plan.max_rows) >= kSmall;
}

}  // namespace

void share_memory(Plan& plan, const Dependencies& dependencies) {
  if (plan.actors.size() > kMostActors) return;
  std::vector<EdgeId> candidates;
  for (EdgeId id = 0; id < static_cast<EdgeId>(plan.edges.size()); ++id)
    if (can_share(plan, plan.edges[id], dependencies.returners(id))) candidates.push_back(id);
  if (candidates.size() < 2) return;
  const auto bytes = [&](EdgeId edge) { return bytes_of(plan.edges[edge].info, plan.max_rows); };
  std::stable_sort(candidates.begin(), candidates.end(), [&](EdgeId a, EdgeId b) { return bytes(a) > bytes(b); });
  const Order order(plan, dependencies);
  const auto comes_before = [&](EdgeId a, EdgeId b) {
    const auto &readers_of_a = dependencies.returners(a), &readers_of_b = dependencies.returners(b);
    return std::all_of(readers_of_a.begin(), readers_of_a.end(),
                       [&](ActorId reader) { return order.before(reader, plan.edges[b].producer); }) &&
           std::all_of(readers_of_b.begin(), readers_of_b.end(),
                       [&](ActorId reader) { return order.before_next(reader, plan.edges[a].producer); });
  };
  std::vector<std::vector<EdgeId>> members;
  for (auto edge : candidates) {
    const auto fits = [&](const std::vector<EdgeId>& buffer) {
      return lie_together(plan, edge, buffer.front()) && std::all_of(buffer.begin(), buffer.end(), [&](EdgeId other) {
               return comes_before(edge, other) || comes_before(other, edge);
             });
    };
    const auto buffer = std::find_if(members.begin(), members.end(), fits);
    plan.edges[edge].shared_buffer = static_cast<std::int32_t>(buffer - members.begin());
    if (buffer == members.end()) {
      members.push_back({edge});
      plan.shared_buffers.push_back(bytes(edge));
    } else {
      buffer->push_back(edge);
    }
  }
}

}  // namespace troupe
