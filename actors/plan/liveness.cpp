#include "troupe/actors/plan/liveness.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Searches a graph of numbered nodes for a cycle.
class Search {
 public:
  /// Waits within one node are left out if `contracted`: it runs its actors in order.
  Search(std::size_t nodes, const std::vector<Wait>& waits, const std::vector<int>& node_of, bool contracted)
      : out_(nodes), state_(nodes, State::unseen) {
    for (const auto& wait : waits) {
      const auto from = node_of[wait.from], to = node_of[wait.to];
      if (!contracted || from != to) out_[from].push_back({to, wait});
    }
  }

  /// True if there is no cycle.
  bool run() {
    for (std::size_t node = 0; node < out_.size(); ++node)
      if (state_[node] == State::unseen && !visit(static_cast<int>(node))) return false;
    return true;
  }

  const std::vector<Wait>& cycle() const { return cycle_; }

 private:
  enum class State { unseen, open, done };
  struct Arc {
    int to;
    Wait wait;
  };
  struct Frame {
    int node;
    std::size_t next = 0;
  };

  // With a stack of its own: plans of long chains would overflow that of the thread.
  bool visit(int root) {
    std::vector<Frame> stack{{root}};
    state_[root] = State::open;
    while (!stack.empty()) {
      auto& frame = stack.back();
      if (frame.next == out_[frame.node].size()) {
        state_[frame.node] = State::done;
        stack.pop_back();
        continue;
      }
      const auto& arc = out_[frame.node][frame.next++];
      if (state_[arc.to] == State::open) return close_cycle(stack, arc);
      if (state_[arc.to] == State::done) continue;
      state_[arc.to] = State::open;
      stack.push_back({arc.to});
    }
    return true;
  }

  bool close_cycle(const std::vector<Frame>& stack, const Arc& last) {
    auto frame = std::find_if(stack.begin(), stack.end(), [&](const Frame& f) { return f.node == last.to; });
    for (; frame != stack.end(); ++frame) cycle_.push_back(out_[frame->node][frame->next - 1].wait);
    return false;
  }

  std::vector<std::vector<Arc>> out_;
  std::vector<State> state_;
  std::vector<Wait> cycle_;
};

std::string describe_cycle(const Plan& plan, const std::vector<Wait>& cycle) {
  std::string text = "the plan would deadlock, no token lies on this cycle: ";
  for (const auto& wait : cycle) {
    text += "'" + plan.actors[wait.from].name + "' -> ";
    text += wait.credit ? "(returns '" + plan.edges[wait.edge].name + "' to) "
                        : "(sends '" + plan.edges[wait.edge].name + "' to) ";
  }
  return text + "'" + plan.actors[cycle.back().to].name + "'";
}

/// Throws Error that names a cycle if there is one.
void refuse_cycles(const Plan& plan, std::size_t nodes, const std::vector<int>& node_of, bool contracted) {
  Search search(nodes, token_free_waits(plan), node_of, contracted);
  if (!search.run()) throw Error("plan", describe_cycle(plan, search.cycle()));
}

bool feeds_collective(const Plan& plan, const PlanActor& actor) {
  for (const auto& output : actor.outputs) {
    if (output.edge == kNone) continue;
    for (const auto& consumer : plan.edges[output.edge].consumers)
      if (plan.actors[consumer.actor].role == ActorRole::collective) return true;
  }
  return false;
}

}  // namespace

std::vector<ActorId> returners(const Plan& plan, const PlanEdge& edge) {
  std::vector<ActorId> result;
  for (const auto& consumer : edge.consumers) {
    const auto& actor = plan.actors[consumer.actor];
    const auto alias = std::find_if(actor.outputs.begin(), actor.outputs.end(), [&](const PlanOutput& output) {
      return output.alias_of == consumer.input && output.edge != kNone;
    });
    if (alias == actor.outputs.end())
      result.push_back(consumer.actor);
    else
      for (auto reader : returners(plan, plan.edges[alias->edge])) result.push_back(reader);
  }
  return result;
}

std::vector<Wait> waits_of(const Plan& plan) {
  std::vector<Wait> waits;
  for (std::size_t id = 0; id < plan.edges.size(); ++id) {
    const auto& edge = plan.edges[id];
    const auto edge_id = static_cast<EdgeId>(id);
    for (const auto& consumer : edge.consumers)
      waits.push_back({edge.producer, consumer.actor, edge_id, false, edge.initial_tokens});
    for (auto actor : returners(plan, edge))
      waits.push_back({actor, edge.producer, edge_id, true, edge.capacity - edge.initial_tokens});
  }
  return waits;
}

std::vector<Wait> token_free_waits(const Plan& plan) {
  auto waits = waits_of(plan);
  std::erase_if(waits, [](const Wait& wait) { return wait.tokens > 0; });
  return waits;
}

std::vector<ActorId> firing_order(const Plan& plan) {
  std::vector<std::vector<ActorId>> after(plan.actors.size());
  std::vector<int> waits(plan.actors.size(), 0);
  for (const auto& wait : token_free_waits(plan)) {
    after[wait.from].push_back(wait.to);
    ++waits[wait.to];
  }
  // The order in which actors were added, but what a collective waits for as early as can be.
  using Priority = std::pair<bool, ActorId>;
  std::priority_queue<Priority, std::vector<Priority>, std::greater<>> free;
  const auto release = [&](ActorId actor) { free.emplace(!feeds_collective(plan, plan.actors[actor]), actor); };
  for (std::size_t actor = 0; actor < waits.size(); ++actor)
    if (waits[actor] == 0) release(static_cast<ActorId>(actor));
  std::vector<ActorId> order;
  while (!free.empty()) {
    const auto actor = free.top().second;
    free.pop();
    order.push_back(actor);
    for (auto next : after[actor])
      if (--waits[next] == 0) release(next);
  }
  if (order.size() < plan.actors.size()) {
    std::vector<int> identity(plan.actors.size());
    std::iota(identity.begin(), identity.end(), 0);
    refuse_cycles(plan, identity.size(), identity, false);
  }
  return order;
}

void check_liveness(const Plan& plan) {
  firing_order(plan);
  if (plan.segments.empty()) return;
  std::vector<int> segment_of(plan.actors.size(), kNone);
  for (std::size_t i = 0; i < plan.segments.size(); ++i)
    for (auto actor : plan.segments[i].actors) segment_of[actor] = static_cast<int>(i);
  for (std::size_t actor = 0; actor < segment_of.size(); ++actor)
    if (segment_of[actor] == kNone) throw Error("plan", "'" + plan.actors[actor].name + "' belongs to no segment");
  refuse_cycles(plan, plan.segments.size(), segment_of, true);
}

}  // namespace troupe
