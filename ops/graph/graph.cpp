#include "troupe/ops/graph/graph.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

ValueId Graph::output(std::string_view name) const {
  for (const auto& named : outputs_)
    if (named.name == name) return named.value;
  throw Error("graph", "there is no output '" + std::string(name) + "'");
}

bool Graph::has_output(std::string_view name) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const auto& named) { return named.name == name; });
}

std::vector<ValueId> Graph::sources(std::string_view op_name) const {
  std::vector<ValueId> found;
  for (const auto& node : nodes_)
    if (node.is(op_name)) found.push_back(node.outputs[0]);
  return found;
}

ValueId Graph::root_of(ValueId value) const {
  while (producer(value).op->kind == OpKind::view) value = producer(value).inputs[0];
  return value;
}

std::vector<std::vector<int>> Graph::readers() const {
  std::vector<std::vector<int>> readers(values_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (auto input : nodes_[i].inputs) readers[input].push_back(static_cast<int>(i));
  return readers;
}

const TensorInfo& Value::info() const {
  return builder_->graph().info(id_);
}

GraphBuilder::GraphBuilder(Graph graph) : graph_(std::move(graph)) {
  for (const auto& node : graph_.nodes_) names_.insert(node.name);
}

std::string GraphBuilder::unique_name(const std::string& name) {
  if (!names_.contains(name)) return name;
  auto& number = last_number_.try_emplace(name, 1).first->second;
  std::string candidate;
  do {
    candidate = name + "_" + std::to_string(++number);
  } while (names_.contains(candidate));
  return candidate;
}

std::vector<Value> GraphBuilder::add(Node node, std::span<const TensorInfo> outputs) {
  const auto index = static_cast<int>(graph_.nodes_.size());
  std::vector<Value> values;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto id = static_cast<ValueId>(graph_.values_.size());
    graph_.values_.push_back({outputs[i], index, static_cast<int>(i)});
    node.outputs.push_back(id);
    values.emplace_back(*this, id);
  }
  names_.insert(node.name);
  graph_.nodes_.push_back(std::move(node));
  return values;
}

Value GraphBuilder::add_source(std::string_view op, Node node, const TensorInfo& info) {
  node.op = &find_op(op);
  if (names_.contains(node.name)) throw Error("graph", "there are two values named '" + node.name + "'");
  return add(std::move(node), std::span(&info, 1))[0];
}

Value GraphBuilder::input(const std::string& name, const Shape& shape, DType dtype) {
  Node node;
  node.name = name;
  return add_source("input", std::move(node), {shape, dtype});
}

Value GraphBuilder::parameter(const std::string& name, const Shape& shape, Initializer initializer) {
  if (shape.has_batch()) throw Error("graph", "parameter '" + name + "' cannot have the size of the batch");
  Node node;
  node.name = scope_ + name;
  node.initializer = std::move(initializer);
  node.trainable = true;
  return add_source("parameter", std::move(node), {shape, DType::float32});
}

Value GraphBuilder::state(const std::string& name, const Shape& shape, Initializer initializer) {
  Node node;
  node.name = name;
  node.initializer = std::move(initializer);
  return add_source("parameter", std::move(node), {shape, DType::float32});
}

Value GraphBuilder::constant(Tensor tensor) {
  Node node;
  node.name = unique_name(scope_ + "constant");
  const TensorInfo info{tensor.shape(), tensor.dtype()};
  node.constant = std::move(tensor);
  return add_source("constant", std::move(node), info);
}

std::vector<Value> GraphBuilder::apply(std::string_view op, std::span<const Value> inputs, Attributes attributes) {
  Node node;
  node.op = &find_op(op);
  std::vector<TensorInfo> infos;
  for (const auto& input : inputs) {
    if (!input.valid()) throw Error(op, "an input is no value");
    if (&input.builder() != this) throw Error(op, "an input belongs to another graph");
    node.inputs.push_back(input.id());
    infos.push_back(input.info());
  }
  const auto outputs = node.op->infer(OpInputs{node.op->name, infos, attributes});
  node.name = unique_name(scope_ + std::string(op));
  node.attributes = std::move(attributes);
  return add(std::move(node), outputs);
}

std::vector<Value> GraphBuilder::copy(const Node& node, std::span<const Value> inputs) {
  Node copied = node;
  copied.inputs.clear();
  copied.outputs.clear();
  std::vector<TensorInfo> infos;
  for (const auto& input : inputs) {
    copied.inputs.push_back(input.id());
    infos.push_back(input.info());
  }
  const auto outputs = node.op->infer(OpInputs{node.op->name, infos, node.attributes});
  return add(std::move(copied), outputs);
}

Value GraphBuilder::copy_source(const Node& node, const TensorInfo& info) {
  Node copied = node;
  copied.outputs.clear();
  return add(std::move(copied), std::span(&info, 1))[0];
}

Value GraphBuilder::apply_one(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes) {
  return apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes)).at(0);
}

void GraphBuilder::output(const std::string& name, Value value) {
  if (graph_.has_output(name)) throw Error("graph", "there are two outputs named '" + name + "'");
  graph_.outputs_.push_back({name, value.id()});
}

GraphBuilder::Scope::Scope(GraphBuilder& builder, const std::string& name)
    : builder_(builder), old_length_(builder.scope_.size()) {
  builder_.scope_ += name + ".";
}

GraphBuilder::Scope::~Scope() {
  builder_.scope_.resize(old_length_);
}

}  // namespace troupe
