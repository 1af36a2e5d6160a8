#include "troupe/actors/plan/liveness.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Searches a graph of numbered nodes for a cycle, depth first. The stack is explicit, since plans of long chains would
/// overflow the stack of the thread.
class CycleSearch {
 public:
  CycleSearch(std::size_t nodes, const std::vector<const Dependency*>& dependencies, const std::vector<int>& node_of)
      : out_(nodes), state_(nodes, State::unseen) {
    for (const auto* dependency : dependencies)
      out_[node_of[dependency->from]].push_back({node_of[dependency->to], dependency});
  }

  /// Returns the dependencies along one cycle; empty if there is none.
  std::vector<const Dependency*> run() {
    for (std::size_t node = 0; node < out_.size(); ++node)
      if (state_[node] == State::unseen && !visit(static_cast<int>(node))) break;
    return cycle_;
  }

 private:
  enum class State { unseen, open, done };
  struct Arc {
    int to;
    const Dependency* dependency;
  };
  struct Frame {
    int node;
    std::size_t next = 0;
  };

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
    for (; frame != stack.end(); ++frame) cycle_.push_back(out_[frame->node][frame->next - 1].dependency);
    return false;
  }

  std::vector<std::vector<Arc>> out_;
  std::vector<State> state_;
  std::vector<const Dependency*> cycle_;
};

std::string describe_cycle(const Plan& plan, const std::vector<const Dependency*>& cycle) {
  std::string text = "the plan would deadlock, no token lies on this cycle: ";
  ActorId last = kNone;
  for (const auto* dependency : cycle) {
    // Within a node the cycle continues from another actor of the same segment, or of the same collective.
    if (last != kNone && last != dependency->from) text += "'" + plan.actors[last].name + "' runs together with ";
    const auto& edge = plan.edges[dependency->edge].name;
    text += "'" + plan.actors[dependency->from].name + "' --" +
            (dependency->kind == Dependency::Kind::credit ? "returns " : "") + edge + "--> ";
    last = dependency->to;
  }
  text += "'" + plan.actors[last].name + "'";
  if (last != cycle.front()->from) text += ", which runs together with '" + plan.actors[cycle.front()->from].name + "'";
  return text;
}

/// The node of every actor: the number of its segment, or of the actor itself if the plan has no segments. Throws Error
/// if an actor of a grouped plan belongs to no segment.
std::vector<int> segment_nodes(const Plan& plan) {
  std::vector<int> node_of(plan.actors.size(), kNone);
  if (plan.segments.empty()) std::iota(node_of.begin(), node_of.end(), 0);
  for (std::size_t i = 0; i < plan.segments.size(); ++i)
    for (auto actor : plan.segments[i].actors) node_of.at(actor) = static_cast<int>(i);
  for (std::size_t actor = 0; actor < node_of.size(); ++actor)
    if (node_of[actor] == kNone) throw Error("plan", "'" + plan.actors[actor].name + "' belongs to no segment");
  return node_of;
}

/// Returns the dependencies without a token that messages carry. A dependency between two actors of one segment is left
/// out if the edge is read inside the segment, without a message; see read_inside().
std::vector<const Dependency*> between_nodes(const Plan& plan, const Dependencies& dependencies,
                                             const std::vector<int>& node_of) {
  std::vector<const Dependency*> waits;
  for (const auto& dependency : dependencies.within_step()) {
    const bool inside = node_of[dependency.from] == node_of[dependency.to] && dependency.from != dependency.to;
    if (!inside || !read_inside(plan, plan.edges[dependency.edge])) waits.push_back(&dependency);
  }
  return waits;
}

/// Makes the conductors that begin one collective, one in each process, one node, since the collective is complete only
/// when every process has begun it.
void join_ranks(const Plan& plan, std::vector<int>& node_of) {
  std::map<std::pair<std::string, std::int64_t>, int> node_of_collective;
  for (std::size_t id = 0; id < plan.actors.size(); ++id) {
    const auto& actor = plan.actors[id];
    if (actor.role != ActorRole::conductor || !actor.task.attributes.has("index")) continue;
    const auto key = std::pair(actor.task.subject, actor.task.attributes.integer("index"));
    const auto [entry, is_new] = node_of_collective.try_emplace(key, node_of[id]);
    const auto node = node_of[id];
    if (!is_new) std::replace(node_of.begin(), node_of.end(), node, entry->second);
  }
}

void check_own_rules(const Plan& plan) {
  for (const auto& actor : plan.actors) {
    if (actor.rule != FiringRule::own) continue;
    for (const auto& input : actor.inputs) {
      if (input.edge == kNone) continue;
      const auto& edge = plan.edges[input.edge];
      if (input.holds > edge.capacity)
        throw Error("plan", "'" + actor.name + "' needs " + std::to_string(input.holds) + " tensors of '" + edge.name +
                                "' at once, which has " + std::to_string(edge.capacity) +
                                (edge.capacity == 1 ? " slot" : " slots"));
    }
  }
}

}  // namespace

void check_liveness(const Plan& plan, const Dependencies& dependencies) {
  check_own_rules(plan);
  auto node_of = segment_nodes(plan);
  const auto waits = between_nodes(plan, dependencies, node_of);
  join_ranks(plan, node_of);
  const auto cycle = CycleSearch(std::max(plan.actors.size(), plan.segments.size()), waits, node_of).run();
  if (!cycle.empty()) throw Error("plan", describe_cycle(plan, cycle));
}

void check_liveness(const Plan& plan) {
  check_liveness(plan, Dependencies(plan));
}

}  // namespace troupe
