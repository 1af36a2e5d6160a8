#include <algorithm>

#include "troupe/ops/fused/fused_elementwise.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// Nodes that are fused into one, in the order of the graph. The last one computes the result. `inputs` are the values
/// that members read and no member computes.
struct Group {
  std::vector<int> members;
  std::vector<ValueId> inputs;
};

/// The pass fuse_elementwise.
class ElementwiseFuser {
 public:
  explicit ElementwiseFuser(const Graph& graph) : graph_(graph), uses_(graph), group_of_(graph.nodes().size(), -1) {
    // Nodes are put into groups from last to first, so that the readers of a node are in their groups before the node.
    for (auto i = static_cast<int>(graph.nodes().size()); i-- > 0;)
      if (can_be_step(node(i))) place(i);
  }

  Graph run() {
    NodeChanges changes(graph_);
    for (const auto& group : groups_) {
      if (group.members.size() == 1) continue;
      for (auto member : group.members) changes.drop(member);
      changes.replace(group.members.back(), fused(group));
    }
    return changes.finish();
  }

 private:
  const Node& node(int i) const { return graph_.nodes()[i]; }
  const Shape& result_shape(int i) const { return graph_.info(node(i).outputs[0]).shape; }

  bool can_be_step(const Node& candidate) const {
    if (!step_of(candidate)) return false;
    return std::ranges::all_of(candidate.inputs, [&](ValueId input) {
      return repeats_along(graph_.info(input).shape, graph_.info(candidate.outputs[0]).shape);
    });
  }

  /// Adds node i to the group whose members are the only readers of the node. Begins a new group with node i if there
  /// is no such group, or add() returns false.
  void place(int i) {
    auto number = group_reading(i);
    if (number < 0 || !add(groups_[number], i)) {
      number = static_cast<int>(groups_.size());
      groups_.push_back({{i}, {}});
      for (auto input : node(i).inputs) add_input(groups_.back().inputs, input);
    }
    group_of_[i] = number;
  }

  /// The number of the group whose members are the only readers of node i; -1 if there is none, or the result of the
  /// node is an output of the graph.
  int group_reading(int i) const {
    const auto value = node(i).outputs[0];
    const auto& readers = uses_.readers_of(value);
    if (readers.empty() || uses_.is_output(value)) return -1;
    const auto number = group_of_[readers[0]];
    return std::ranges::all_of(readers, [&](int reader) { return group_of_[reader] == number; }) ? number : -1;
  }

  static void add_input(std::vector<ValueId>& inputs, ValueId input) {
    if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
  }

  /// Adds node i to a group, before all other members. Returns false, and changes nothing, if the results of the node
  /// and the group differ in shape, the formula would have too many steps or inputs, or an update between node i and
  /// the last member of the group overwrites an input of the node.
  bool add(Group& group, int i) const {
    if (group.members.size() == Formula::kMostSteps || !(result_shape(i) == result_shape(group.members.back())))
      return false;
    auto inputs = group.inputs;
    std::erase(inputs, node(i).outputs[0]);
    for (auto input : node(i).inputs) {
      if (!uses_.same_at(input, i, group.members.back())) return false;
      add_input(inputs, input);
    }
    if (inputs.size() > Formula::kMostInputs) return false;
    group.members.insert(group.members.begin(), i);
    group.inputs = std::move(inputs);
    return true;
  }

  Node fused(const Group& group) const {
    std::vector<ValueId> values = group.inputs;
    const auto number_of = [&](ValueId value) {
      return static_cast<std::int32_t>(std::ranges::find(values, value) - values.begin());
    };
    Formula formula;
    for (auto member : group.members) {
      auto step = *step_of(node(member));
      step.operands = {number_of(node(member).inputs.front()), number_of(node(member).inputs.back())};
      formula.steps.push_back(step);
      values.push_back(node(member).outputs[0]);
    }
    Node result = node(group.members.back());
    result.op = &kFusedElementwise;
    result.inputs = group.inputs;
    result.attributes = formula.attributes();
    return result;
  }

  const Graph& graph_;
  Uses uses_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;  // by node, the number of its group or -1
};

}  // namespace

Graph fuse_elementwise(const Graph& graph) {
  return ElementwiseFuser(graph).run();
}

}  // namespace troupe
