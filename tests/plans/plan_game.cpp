#include "troupe/tests/plans/plan_game.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe::testing {

namespace {

/// A plan of segments in play. How often each has fired says everything about tensors and slots.
class Game {
 public:
  explicit Game(const Plan& plan) : plan_(plan), fired_(plan.segments.size(), 0) {
    for (const auto& segment : plan.segments) layouts_.push_back(lay_out(plan, segment));
    for (std::size_t s = 0; s < layouts_.size(); ++s) {
      for (auto edge : layouts_[s].ports) readers_[edge].push_back(s);
      for (const auto& output : layouts_[s].outputs)
        if (output.edge != kNone) producer_[output.edge] = s;
    }
    find_waits_for_itself();
  }

  bool run(std::int64_t firings) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < fired_.size(); ++s) {
        while (fired_[s] < firings && can_fire(s)) {
          ++fired_[s];
          moved = true;
        }
      }
    }
    return std::all_of(fired_.begin(), fired_.end(), [&](auto count) { return count == firings; });
  }

 private:
  bool can_fire(std::size_t s) const {
    if (waits_for_itself_.contains(s)) return false;
    for (auto edge : layouts_[s].ports)
      if (sent(edge) - fired_[s] <= 0) return false;
    for (const auto& output : layouts_[s].outputs)
      if (output.edge != kNone && sent(output.edge) - freed(output.edge) >= plan_.edges[output.edge].capacity)
        return false;
    return true;
  }

  /// An actor that reads its own output, which holds no token, never fires under any layout.
  void find_waits_for_itself() {
    for (const auto& edge : plan_.edges)
      for (const auto& consumer : edge.consumers)
        for (std::size_t s = 0; s < plan_.segments.size(); ++s)
          if (consumer.actor == edge.producer && edge.initial_tokens == 0 &&
              std::ranges::count(plan_.segments[s].actors, edge.producer) > 0)
            waits_for_itself_.insert(s);
  }

  std::int64_t sent(EdgeId edge) const { return plan_.edges[edge].initial_tokens + fired_[producer_.at(edge)]; }

  /// Slots that all readers have returned; one that works in place returns with the readers of its output.
  std::int64_t freed(EdgeId edge) const {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (auto reader : readers_.at(edge)) {
      auto returned = fired_[reader];
      for (const auto& output : layouts_[reader].outputs)
        if (output.alias_port != kNone && layouts_[reader].ports[static_cast<std::size_t>(output.alias_port)] == edge)
          returned = freed(output.edge);
      least = std::min(least, returned);
    }
    return least;
  }

  const Plan& plan_;
  std::vector<SegmentLayout> layouts_;
  std::vector<std::int64_t> fired_;
  std::map<EdgeId, std::vector<std::size_t>> readers_;
  std::map<EdgeId, std::size_t> producer_;
  std::set<std::size_t> waits_for_itself_;
};

}  // namespace

bool plays(const Plan& plan) {
  constexpr std::int64_t kFirings = 12;
  return Game(plan).run(kFirings);
}

Plan one_by_one(Plan plan) {
  plan.segments.clear();
  for (ActorId id = 0; id < static_cast<ActorId>(plan.actors.size()); ++id)
    plan.segments.push_back({plan.actors[id].name, plan.actors[id].place, {id}, id, false});
  for (auto& edge : plan.edges) {
    const bool own_parameter = plan.actors[edge.producer].outputs[0].parameter && edge.capacity == 1;
    for (const auto& consumer : edge.consumers)
      if (consumer.actor == edge.producer && edge.initial_tokens > 0 && !own_parameter)
        edge.capacity = std::max(edge.capacity, edge.initial_tokens + 1);
  }
  return plan;
}

}  // namespace troupe::testing
