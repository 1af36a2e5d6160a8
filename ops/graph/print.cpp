#include "troupe/ops/graph/print.hpp"

#include "troupe/ops/core/text_stream.hpp"

namespace troupe {

namespace {

template <class Items, class Print>
void join(std::ostream& out, const Items& items, Print print) {
  const char* separator = "";
  for (const auto& item : items) {
    out << separator;
    print(item);
    separator = ", ";
  }
}

}  // namespace

std::string to_text(const Graph& graph) {
  TextStream out;
  for (const auto& node : graph.nodes()) {
    join(out, node.outputs, [&](ValueId id) { out << "%" << id; });
    out << " " << node.name << ": ";
    join(out, node.outputs, [&](ValueId id) { out << to_string(graph.info(id)); });
    out << " = " << node.op->name << "(";
    join(out, node.inputs, [&](ValueId id) { out << "%" << id; });
    out << ")";
    if (!node.attributes.entries().empty()) out << " " << to_string(node.attributes);
    out << "\n";
  }
  for (const auto& named : graph.outputs()) out << named.name << " = %" << named.value << "\n";
  return out.str();
}

std::string to_dot(const Graph& graph) {
  TextStream out;
  out << "digraph graph_ {\n  rankdir=TB;\n  node [shape=box];\n";
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& node = graph.nodes()[i];
    out << "  n" << i << " [label=\"" << node.name << "\\n" << node.op->name << "\"";
    if (node.op->kind == OpKind::source) out << ", style=rounded";
    out << "];\n";
    for (auto input : node.inputs)
      out << "  n" << graph.values()[input].node << " -> n" << i << " [label=\"" << to_string(graph.info(input))
          << "\"];\n";
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& named = graph.outputs()[i];
    out << "  o" << i << " [label=\"" << named.name << "\", shape=plaintext];\n";
    out << "  n" << graph.values()[named.value].node << " -> o" << i << ";\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace troupe
