#include "troupe/ops/graph/graph.hpp"

#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

ValueId Graph::output(std::string_view name) const {
  const auto named = std::ranges::find(outputs_, name, &NamedValue::name);
  if (named != outputs_.end()) return named->value;
  throw Error("graph", "there is no output '" + std::string(name) + "'");
}

bool Graph::has_output(std::string_view name) const {
  return std::ranges::find(outputs_, name, &NamedValue::name) != outputs_.end();
}

std::vector<ValueId> Graph::sources(const OpDef& op) const {
  std::vector<ValueId> values;
  for (const auto& node : nodes_)
    if (node.is(op)) values.push_back(node.outputs[0]);
  return values;
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

GraphBuilder& Value::builder() const {
  if (builder_ == nullptr) throw Error("graph", "an invalid value has no graph");
  return *builder_;
}

TensorInfo Value::info() const {
  return builder().graph().info(id_);
}

GraphBuilder::GraphBuilder(BuildOptions options) : options_(options) {}

GraphBuilder::GraphBuilder(Graph graph) : GraphBuilder() {
  graph_ = std::move(graph);
  for (const auto& node : graph_.nodes_) last_numbers_.try_emplace(node.name, 1);
}

GraphBuilder::~GraphBuilder() = default;

std::string GraphBuilder::unique_name(const std::string& name) {
  const auto entry = last_numbers_.find(name);
  if (entry == last_numbers_.end()) return name;
  std::string candidate;
  do {
    candidate = name + "_" + std::to_string(++entry->second);
  } while (last_numbers_.contains(candidate));
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
  last_numbers_.try_emplace(node.name, 1);
  graph_.nodes_.push_back(std::move(node));
  return values;
}

Value GraphBuilder::add_source(Node node, const TensorInfo& info) {
  if (last_numbers_.contains(node.name))
    throw Error("graph", "there are two values named '" + node.name +
                             "'; layers outside a Sequential need a GraphBuilder::Scope each, whose name is put "
                             "before the names of their parameters");
  return add(std::move(node), std::span(&info, 1))[0];
}

/// Throws Error unless `name`, and the name with the names of the current scopes before it, can name a parameter or a
/// buffer. A slash marks the states of a parameter, such as "w/velocity".
void GraphBuilder::expect_parameter_name(const char* what, const std::string& name) const {
  expect_name("graph", what, name);
  expect_name("graph", what, scope_ + name);
  if ((scope_ + name).find('/') != std::string::npos)
    throw Error("graph", std::string("the name '") + scope_ + name + "' of " + what +
                             " has a slash, which marks the states of parameters; use a dot");
}

Value GraphBuilder::input(const std::string& name, const Shape& shape, DType dtype) {
  expect_name("graph", "an input", name);
  return add_source({.op = &kInput, .name = name}, {shape, dtype});
}

Value GraphBuilder::parameter(const std::string& name, const Shape& shape, Initializer initializer) {
  expect_parameter_name("a parameter", name);
  if (shape.has_batch()) throw Error("graph", "parameter '" + name + "' cannot have the size of the batch");
  return add_source(
      {.op = &kParameter, .name = scope_ + name, .initializer = std::move(initializer), .trainable = true},
      {shape, DType::float32});
}

Value GraphBuilder::row_sparse_parameter(const std::string& name, const Shape& shape, Initializer initializer) {
  expect_parameter_name("a parameter", name);
  if (shape.rank() == 0 || shape.has_batch())
    throw Error("graph", "row-sparse parameter '" + name + "' needs a shape [N, ...] without the batch");
  Node node{.op = &kParameter, .name = scope_ + name, .initializer = std::move(initializer), .trainable = true};
  node.attributes = node.attributes.with(kRowSparse, true);
  return add_source(std::move(node), {shape, DType::float32});
}

bool GraphBuilder::is_row_sparse(const Node& node) {
  return node.is(kParameter) && node.attributes.has(kRowSparse);
}

Value GraphBuilder::state(const std::string& name, const Shape& shape, Initializer initializer) {
  expect_name("graph", "a state", name, kMaxMadeNameBytes);
  return add_source({.op = &kParameter, .name = name, .initializer = std::move(initializer)}, {shape, DType::float32});
}

Value GraphBuilder::replica_state(const std::string& name, const Shape& shape, Initializer initializer) {
  expect_name("graph", "a state", name, kMaxMadeNameBytes);
  Node node{.op = &kParameter, .name = name, .initializer = std::move(initializer)};
  node.attributes = node.attributes.with(kPerReplica, true);
  return add_source(std::move(node), {shape, DType::float32});
}

Value GraphBuilder::buffer(const std::string& name, const Shape& shape, Initializer initializer) {
  expect_parameter_name("a buffer", name);
  return state(scope_ + name, shape, std::move(initializer));
}

void GraphBuilder::next_value(Value buffer, Value next) {
  if (!buffer.valid() || !next.valid() || &buffer.builder() != this || &next.builder() != this)
    throw Error("graph", "a buffer and its next value must be valid values of this graph");
  const auto& name = graph_.producer(buffer.id()).name;
  if (!graph_.producer(buffer.id()).is(kParameter) || graph_.producer(buffer.id()).trainable)
    throw Error("graph", "'" + name + "' is not a buffer, so it has no next value");
  if (!(next.info() == buffer.info()))
    throw Error("graph", "the next value of '" + name + "' must be " + to_string(buffer.info()) + ", not " +
                             to_string(next.info()));
  output(name_of_next(name), next);
}

Value GraphBuilder::batch_info() {
  const auto info = BatchInfo::info();
  for (auto id : graph_.sources(kInput)) {
    if (graph_.producer(id).name != kBatchInfo) continue;
    if (!(graph_.info(id) == info))
      throw Error("graph", "the input '" + std::string(kBatchInfo) + "' is " + to_string(graph_.info(id)) +
                               ", but this name belongs to the batch info, " + to_string(info) +
                               ": give the input another name");
    return value(id);
  }
  return input(kBatchInfo, info.shape, info.dtype);
}

Value GraphBuilder::constant(Tensor tensor) {
  const TensorInfo info{tensor.shape(), tensor.dtype()};
  return add_source({.op = &kConstant, .name = unique_name(scope_ + "constant"), .constant = std::move(tensor)}, info);
}

void GraphBuilder::expect_updatable(const Node& node, std::size_t outputs) const {
  for (std::size_t i = 0; i < outputs; ++i) {
    const auto& target = graph_.producer(node.inputs[i]);
    if (!target.is(kParameter)) throw Error(node.op->name, "updates '" + target.name + "', which is not a parameter");
    for (const auto& other : graph_.nodes_) {
      if (other.op->kind != OpKind::update) continue;
      const auto targets = std::span(other.inputs).first(other.outputs.size());
      if (std::ranges::find(targets, node.inputs[i]) != targets.end())
        throw Error(node.op->name, "updates '" + target.name + "', which '" + other.name + "' updates already");
    }
  }
}

std::vector<Value> GraphBuilder::add_op(Node node, std::span<const Value> inputs) {
  std::vector<TensorInfo> infos;
  for (const auto& input : inputs) {
    if (!input.valid()) throw Error(node.op->name, "an input is invalid");
    if (&input.builder() != this) throw Error(node.op->name, "an input belongs to another graph");
    node.inputs.push_back(input.id());
    infos.push_back(input.info());
  }
  const auto outputs = node.op->infer(OpInputs{node.op->name, infos, node.attributes});
  if (node.op->kind == OpKind::update) expect_updatable(node, outputs.size());
  node.name = unique_name(node.name);
  return add(std::move(node), outputs);
}

std::vector<Value> GraphBuilder::apply(const OpDef& op, std::span<const Value> inputs, Attributes attributes) {
  return add_op({.op = &op, .name = scope_ + std::string(op.name), .attributes = std::move(attributes)}, inputs);
}

std::vector<Value> GraphBuilder::copy(Node node, std::span<const Value> inputs) {
  node.inputs.clear();
  node.outputs.clear();
  return add_op(std::move(node), inputs);
}

Value GraphBuilder::copy_source(Node node, const TensorInfo& info) {
  node.outputs.clear();
  return add_source(std::move(node), info);
}

void GraphBuilder::output(const std::string& name, Value value) {
  expect_name("graph", "an output", name, kMaxMadeNameBytes);
  if (graph_.has_output(name)) throw Error("graph", "there are two outputs named '" + name + "'");
  graph_.outputs_.push_back({name, value.id()});
}

GraphBuilder::Scope::Scope(GraphBuilder& builder, const std::string& name)
    : builder_(builder), old_length_(builder.scope_.size()) {
  expect_name("graph", "a scope", name);
  builder_.scope_ += name + ".";
}

GraphBuilder::Scope::~Scope() {
  builder_.scope_.resize(old_length_);
}

}  // namespace troupe
