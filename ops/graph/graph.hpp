#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/initializer.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/attributes.hpp"
#include "troupe/ops/graph/op.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

/// The number of a value in its graph.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
/// The attribute of row-sparse parameters and of their updates.
inline constexpr const char* kRowSparse = "row_sparse";
/// The attribute of states of which every replica has its own.
inline constexpr const char* kPerReplica = "per_replica";

/// One op applied to values.
struct Node {
  const OpDef* op = nullptr;
  std::string name;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// The initial values of a parameter.
  Initializer initializer;
  /// True for a trained parameter, false for a state, such as the state of an optimizer.
  bool trainable = false;
  /// The elements of a constant.
  Tensor constant;

  bool is(const OpDef& other) const { return op == &other; }
};

/// The shape and dtype of a value, and the output of the node that produces it.
struct ValueDef {
  TensorInfo info;
  int node = -1;
  int output = 0;
};

/// An output of a graph.
struct NamedValue {
  std::string name;
  ValueId value = kNoValue;
};

/// An immutable program: op nodes in topological order. GraphBuilder builds graphs, and passes make new graphs of them.
class Graph {
 public:
  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size()}; }
  std::span<const ValueDef> values() const { return {values_.data(), values_.size()}; }
  std::span<const NamedValue> outputs() const { return {outputs_.data(), outputs_.size()}; }

  const TensorInfo& info(ValueId value) const { return values_[value].info; }
  const Node& producer(ValueId value) const { return nodes_[values_[value].node]; }

  /// The output with a name. Throws Error if there is none.
  ValueId output(std::string_view name) const;
  bool has_output(std::string_view name) const;
  /// The values of all nodes of a source op (kInput, kParameter or kConstant), in graph order.
  std::vector<ValueId> sources(const OpDef& op) const;
  /// The value that owns the memory of `value`: the value itself or, for a view, the value that it is a view of.
  ValueId root_of(ValueId value) const;
  /// For every value the nodes that read it, in graph order; a node that reads a value twice comes twice.
  std::vector<std::vector<int>> readers() const;

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<ValueDef> values_;
  std::vector<NamedValue> outputs_;
};

/// Handle of a value of a graph under construction. It is valid as long as the builder exists. Every accessor of an
/// invalid handle throws Error.
class Value {
 public:
  Value() = default;
  Value(GraphBuilder& builder, ValueId id) : builder_(&builder), id_(id) {}

  bool valid() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  GraphBuilder& builder() const;
  TensorInfo info() const;
  Shape shape() const { return info().shape; }
  DType dtype() const { return info().dtype; }

 private:
  GraphBuilder* builder_ = nullptr;
  ValueId id_ = kNoValue;
};

/// The purpose of a graph, which layers ask for while they build it.
struct BuildOptions {
  /// True: layers such as dropout and batch norm behave as in training.
  bool training = false;
  /// The seed of the random numbers of the steps.
  std::uint64_t seed = 0;
};

/// Builds a graph node by node. Shapes and dtypes are inferred as nodes are added, so a mismatch is an Error at once. A
/// builder cannot be copied or moved, because values point to it.
class GraphBuilder {
 public:
  explicit GraphBuilder(BuildOptions options = {});
  /// Extends an existing graph, whose values keep their ids.
  explicit GraphBuilder(Graph graph);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  bool training() const { return options_.training; }
  std::uint64_t seed() const { return options_.seed; }

  /// A value that is given from outside at every step. The functions for sources throw Error if the name is taken.
  Value input(const std::string& name, const Shape& shape, DType dtype = DType::float32);
  /// A trained float32 value that is kept from step to step. The scope is put before the name. The n-th parameter takes
  /// its initial values from the n-th random stream, so parameters must be made in a fixed order. The operands of one
  /// expression have no order in C++.
  Value parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// A parameter that is a table of rows [N, ...]. A row whose gradient is zero in a step keeps its value and its
  /// optimizer state in that step, for every optimizer. A process therefore needs only the rows that a batch reads.
  Value row_sparse_parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// True if a node is a row-sparse parameter.
  static bool is_row_sparse(const Node& node);
  /// A float32 value that is kept from step to step and not trained, such as a velocity. The scope is not put before
  /// the name.
  Value state(const std::string& name, const Shape& shape, Initializer initializer);
  /// A state of which every replica has its own. It is neither copied to other replicas nor saved with a model, and is
  /// initialized again after a failure. The scope is not put before the name.
  Value replica_state(const std::string& name, const Shape& shape, Initializer initializer);
  /// A state of a model, such as a running mean, that is kept with the parameters. The scope is put before the name.
  Value buffer(const std::string& name, const Shape& shape, Initializer initializer);
  /// Sets the value of a buffer after a training step. It must be the same on all replicas. Throws Error if the buffer
  /// has a next value already or `next` differs from the buffer in shape or dtype.
  void next_value(Value buffer, Value next);
  /// The batch info, int64[4] (see BatchInfo): the input kBatchInfo, which the first call adds.
  Value batch_info();
  static constexpr const char* kBatchInfo = "batch_info";
  /// The name of the output that next_value adds for a buffer.
  static std::string name_of_next(const std::string& buffer) { return "next/" + buffer; }
  /// The number of a new random stream. The n-th call returns n - 1, so a model gets the same streams whenever it is
  /// built.
  std::int64_t next_random_stream() { return random_streams_++; }
  /// A value that never changes. The graph keeps the tensor.
  Value constant(Tensor tensor);

  /// Adds a node and returns its outputs. `op` must live as long as any graph with the node. Throws Error if the op
  /// does not accept the inputs, or if it updates a value that is not a parameter or that another node updates.
  std::vector<Value> apply(const OpDef& op, std::span<const Value> inputs, Attributes attributes = {});
  std::vector<Value> apply(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {}) {
    return apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes));
  }
  /// Adds a node and returns its first output; see apply().
  Value apply_one(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {}) {
    return apply(op, inputs, std::move(attributes)).at(0);
  }

  /// Adds a copy of another graph's node, with inputs of this graph. A number is put after its name if the name is
  /// taken.
  std::vector<Value> copy(Node node, std::span<const Value> inputs);
  /// Adds a copy of another graph's source. Throws Error if its name is taken.
  Value copy_source(Node node, const TensorInfo& info);

  /// Makes a value an output of the graph. Throws Error if the name is taken.
  void output(const std::string& name, Value value);

  Value value(ValueId id) { return {*this, id}; }
  const Graph& graph() const { return graph_; }
  Graph build() && { return std::move(graph_); }

  /// Puts a prefix, such as `conv1.`, before the names of nodes and parameters while the object lives.
  class Scope {
   public:
    Scope(GraphBuilder& builder, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t old_length_;
  };

 private:
  /// Connects the node to its inputs, infers its outputs and adds it.
  std::vector<Value> add_op(Node node, std::span<const Value> inputs);
  Value add_source(Node node, const TensorInfo& info);
  std::vector<Value> add(Node node, std::span<const TensorInfo> outputs);
  /// Throws Error unless the first `outputs` inputs are parameters that no other node updates: with two updates the
  /// schedule would decide the result.
  void expect_updatable(const Node& node, std::size_t outputs) const;
  std::string unique_name(const std::string& name);

  Graph graph_;
  BuildOptions options_;
  std::int64_t random_streams_ = 0;
  std::map<std::string, int> last_numbers_;  // by name of a node: the last number put after it
  std::string scope_;
};

/// The arguments of a gradient rule.
struct OpGradient {
  GraphBuilder& builder;
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  /// The gradient of each output; an invalid Value if the result does not depend on the output.
  std::span<const Value> dys;
};

/// The gradient rule of an op with one input whose gradient is `op` of dy and the input, with the same attributes.
template <const OpDef& op>
std::vector<Value> grad_from_input(const OpGradient& g) {
  return {g.builder.apply_one(op, {g.dys[0], g.inputs[0]}, g.attributes)};
}
/// The gradient rule of an op with one input whose gradient is `op` of dy and the output, with the same attributes.
template <const OpDef& op>
std::vector<Value> grad_from_output(const OpGradient& g) {
  return {g.builder.apply_one(op, {g.dys[0], g.outputs[0]}, g.attributes)};
}

}  // namespace troupe
