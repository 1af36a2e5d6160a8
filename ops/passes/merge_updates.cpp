#include <algorithm>

#include "troupe/ops/fused/merged_updates.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

// The inputs of an update are, in this order: the stored values, which are the parameter and its optimizer states; the
// gradient; and shared inputs, which may be those of other updates, too, such as the learning rate.

std::span<const ValueId> stored_of(const Node& update) {
  return std::span(update.inputs).first(update.outputs.size());
}
ValueId gradient_of(const Node& update) {
  return update.inputs[update.outputs.size()];
}
std::span<const ValueId> shared_of(const Node& update) {
  return std::span(update.inputs).subspan(update.outputs.size() + 1);
}

/// For every node the index of the last collective that the node is or depends on, directly or not; -1 if there is
/// none. Collectives complete in graph order, so the node waits for all collectives up to that one.
std::vector<int> last_collectives(const Graph& graph) {
  std::vector<int> last_collective;
  for (const auto& node : graph.nodes()) {
    auto last = node.op->kind == OpKind::collective ? static_cast<int>(last_collective.size()) : -1;
    for (auto input : node.inputs) last = std::max(last, last_collective[graph.values()[input].node]);
    last_collective.push_back(last);
  }
  return last_collective;
}

/// The pass merge_updates. It divides the updates into groups. All updates of a group, its members, become one merged
/// update in the place of the last member.
class UpdateMerger {
 public:
  explicit UpdateMerger(const Graph& graph)
      : graph_(graph),
        uses_(graph),
        last_collective_(last_collectives(graph)),
        group_of_(graph.nodes().size(), kNoGroup) {
    for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
      if (can_be_merged(node(i))) add(i);
  }

  Graph run() {
    NodeChanges changes(graph_);
    for (const auto& group : groups_) {
      if (group.size() == 1) continue;
      for (auto member : group) changes.drop(member);
      changes.replace(group.back(), merged(group));
    }
    return changes.finish();
  }

 private:
  static constexpr auto kNoGroup = static_cast<std::size_t>(-1);

  const Node& node(int i) const { return graph_.nodes()[i]; }

  /// True if the op of an update has a merged form, the parameter is not row-sparse (one whose update skips rows with a
  /// zero gradient), the values that the update computes are no outputs, and no update overwrites the gradient or a
  /// shared input of this one.
  bool can_be_merged(const Node& update) const {
    if (merged_op_of(*update.op) == nullptr || update.attributes.has(kRowSparse)) return false;
    const auto stays_inside = [&](ValueId value) { return !uses_.is_output(value); };
    const auto unchanged = [&](ValueId value) { return uses_.overwritten_by(value) < 0; };
    return std::ranges::all_of(update.outputs, stays_inside) && unchanged(gradient_of(update)) &&
           std::ranges::all_of(shared_of(update), unchanged);
  }

  /// True if the members of a group can be computed at the place of a later update: no node between the last member and
  /// that update reads a value that a member overwrites or computes.
  bool can_wait(std::size_t group, int update) const {
    for (int i = groups_[group].back() + 1; i < update; ++i)
      for (auto input : node(i).inputs) {
        const auto overwriter = uses_.overwritten_by(input);
        if (overwriter >= 0 && overwriter < i && group_of_[overwriter] == group) return false;
        if (group_of_[graph_.values()[input].node] == group) return false;
      }
    return true;
  }

  bool belong_together(int a, int b) const {
    return node(a).is(*node(b).op) && node(a).attributes == node(b).attributes &&
           last_collective_[a] == last_collective_[b] && std::ranges::equal(shared_of(node(a)), shared_of(node(b)));
  }

  /// Adds an update to the first group with which it can be merged, or begins a new group.
  void add(int update) {
    std::size_t group = 0;
    while (group < groups_.size() && !(belong_together(groups_[group].front(), update) && can_wait(group, update)))
      ++group;
    if (group == groups_.size()) groups_.emplace_back();
    groups_[group].push_back(update);
    group_of_[update] = group;
  }

  Node merged(const std::vector<int>& group) const {
    Node result = node(group.front());
    result.op = merged_op_of(*result.op);
    result.inputs.clear();
    result.outputs.clear();
    const auto append = [](std::vector<ValueId>& values, std::span<const ValueId> more) {
      values.insert(values.end(), more.begin(), more.end());
    };
    for (auto member : group) {
      append(result.inputs, stored_of(node(member)));
      append(result.outputs, node(member).outputs);
    }
    for (auto member : group) result.inputs.push_back(gradient_of(node(member)));
    append(result.inputs, shared_of(node(group.front())));
    return result;
  }

  const Graph& graph_;
  Uses uses_;
  std::vector<int> last_collective_;      // by node, see last_collectives()
  std::vector<std::vector<int>> groups_;  // the members of each group, in graph order
  std::vector<std::size_t> group_of_;     // by node, the number of its group or kNoGroup
};

}  // namespace

Graph merge_updates(const Graph& graph) {
  return UpdateMerger(graph).run();
}

}  // namespace troupe
