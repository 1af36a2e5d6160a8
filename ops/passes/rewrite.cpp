#include "troupe/ops/passes/rewrite.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

Value Rewrite::mapped(ValueId old) const {
  if (!map_[old].valid())
    throw Error("rewrite", "a value of node '" + old_.producer(old).name + "' was dropped, but another node reads it");
  return map_[old];
}

void Rewrite::copy(const Node& node) {
  if (node.op->kind == OpKind::source) {
    map(node.outputs[0], builder_.copy_source(node, old_.info(node.outputs[0])));
    return;
  }
  copy(node, node.inputs, node.attributes, node.outputs);
}

void Rewrite::copy(const Node& node, std::span<const ValueId> old_inputs, const Attributes& attributes,
                   std::span<const ValueId> old_outputs) {
  std::vector<Value> inputs;
  for (auto input : old_inputs) inputs.push_back(mapped(input));
  Node changed = node;
  changed.attributes = attributes;
  const auto outputs = builder_.copy(changed, inputs);
  for (std::size_t i = 0; i < old_outputs.size(); ++i) map(old_outputs[i], outputs[i]);
}

Graph Rewrite::finish_without_outputs() && {
  return std::move(builder_).build();
}

Graph Rewrite::finish() && {
  for (const auto& named : old_.outputs()) builder_.output(named.name, mapped(named.value));
  return std::move(builder_).build();
}

}  // namespace troupe
