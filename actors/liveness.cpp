#include "actors/liveness.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ops/error.hpp"

namespace troupe {

namespace {

/// Who gives back the slots of an edge: its consumers, or for one that works in place whoever reads its output.
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

/// Searches a graph of numbered nodes for an order, or for a cycle that makes one impossible.
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

  /// The nodes in order, or nothing if there is a cycle.
  bool run(std::vector<int>& order) {
    for (std::size_t node = 0; node < out_.size(); ++node)
      if (state_[node] == State::unseen && !visit(static_cast<int>(node))) return false;
    order.assign(done_.rbegin(), done_.rend());
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
        done_.push_back(frame.node);
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
  std::vector<int> done_;
  std::vector<Wait> cycle_;
};

std::string describe_cycle(const Plan& plan, const std::vector<Wait>& cycle) {
  std::string text = "the plan would deadlock, no token lies on this cycle: ";
  for (const auto& wait : cycle) {
    text += "'" + plan.actors[wait.from].name + "' -> ";
    text += wait.credit ? "(returns '" + plan.edges[wait.edge].name + "' to) " : "(sends '" + plan.edges[wait.edge].name + "' to) ";
  }
  return text + "'" + plan.actors[cycle.back().to].name + "'";
}

std::vector<int> identity(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int> order_or_throw(const Plan& plan, std::size_t nodes, const std::vector<int>& node_of, bool contracted) {
  Search search(nodes, token_free_waits(plan), node_of, contracted);
  std::vector<int> order;
  if (!search.run(order)) throw Error("plan", describe_cycle(plan, search.cycle()));
  return order;
}

}  // namespace

std::vector<Wait> token_free_waits(const Plan& plan) {
  std::vector<Wait> waits;
  for (std::size_t id = 0; id < plan.edges.size(); ++id) {
    const auto& edge = plan.edges[id];
    const auto edge_id = static_cast<EdgeId>(id);
    if (edge.initial_tokens == 0)
      for (const auto& consumer : edge.consumers) waits.push_back({edge.producer, consumer.actor, edge_id, false});
    if (edge.capacity == edge.initial_tokens)
      for (auto actor : returners(plan, edge)) waits.push_back({actor, edge.producer, edge_id, true});
  }
  return waits;
}

std::vector<ActorId> firing_order(const Plan& plan) {
  return order_or_throw(plan, plan.actors.size(), identity(plan.actors.size()), false);
}

void check_liveness(const Plan& plan) {
  firing_order(plan);
  if (plan.segments.empty()) return;
  std::vector<int> segment_of(plan.actors.size(), kNone);
  for (std::size_t i = 0; i < plan.segments.size(); ++i)
    for (auto actor : plan.segments[i].actors) segment_of[actor] = static_cast<int>(i);
  for (std::size_t actor = 0; actor < segment_of.size(); ++actor)
    if (segment_of[actor] == kNone) throw Error("plan", "'" + plan.actors[actor].name + "' belongs to no segment");
  order_or_throw(plan, plan.segments.size(), segment_of, true);
}

}  // namespace troupe
