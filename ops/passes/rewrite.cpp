#include "troupe/ops/passes/rewrite.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

Value Rewrite::mapped(ValueId old) const {
  if (!map_[old].valid())
    throw Error("rewrite", "a value of node '" + old_.producer(old).name + "' was dropped, but another node reads it");
  return map_[old];
}

void Rewrite::copy(const Node& node) {
  if (node.op->kind == OpKind::source)
    return map(node.outputs[0], builder_.copy_source(node, old_.info(node.outputs[0])));
  std::vector<Value> inputs;
  for (auto input : node.inputs) inputs.push_back(mapped(input));
  copy(node, inputs);
}

void Rewrite::copy(const Node& node, std::span<const Value> inputs) {
  const auto outputs = builder_.copy(node, inputs);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) map(node.outputs[i], outputs[i]);
}

Graph Rewrite::finish() && {
  for (const auto& named : old_.outputs()) builder_.output(named.name, mapped(named.value));
  return std::move(builder_).build();
}

Graph NodeChanges::finish() const {
  Rewrite rewrite(old_);
  for (const auto& node : nodes_)
    if (node.op != nullptr)
      rewrite.copy(node);
    else if (!node.inputs.empty())
      rewrite.map(node.outputs[0], rewrite.mapped(node.inputs[0]));
  return std::move(rewrite).finish();
}

}  // namespace troupe
