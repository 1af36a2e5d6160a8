#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/initializer.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/attributes.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// The number of a value in its graph.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
/// The name of the attribute that marks row-sparse parameters (see GraphBuilder::row_sparse_parameter) and the update
/// nodes of these parameters.
inline constexpr const char* kRowSparse = "row_sparse";
/// The name of the attribute that marks a state with a separate copy for every replica (see
/// GraphBuilder::replica_state).
inline constexpr const char* kPerReplica = "per_replica";

/// A node of a graph: one op applied to values.
struct Node {
  const OpDef* op = nullptr;
  std::string name;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// The initial values, if the node is a parameter or a state.
  Initializer initializer;
  /// True for a trained parameter; false for a state, such as a velocity of the optimizer, and for all other nodes.
  bool trainable = false;
  /// The elements, if the node is a constant.
  Tensor constant;

  bool is(const OpDef& other) const { return op == &other; }
};

/// A value of a graph: its shape and dtype, the index of the node that produces it, and its index among the outputs of
/// that node.
struct ValueDef {
  TensorInfo info;
  int node = -1;
  int output = 0;
};

/// An output of a graph: a value and the name under which callers find it.
struct NamedValue {
  std::string name;
  ValueId value = kNoValue;
};

/// A directed acyclic graph of ops, immutable once built; the nodes are in topological order. GraphBuilder builds
/// graphs, and passes make new graphs from them.
class Graph {
 public:
  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size()}; }
  std::span<const ValueDef> values() const { return {values_.data(), values_.size()}; }
  std::span<const NamedValue> outputs() const { return {outputs_.data(), outputs_.size()}; }

  const TensorInfo& info(ValueId value) const { return values_[value].info; }
  const Node& producer(ValueId value) const { return nodes_[values_[value].node]; }

  /// The value of the output `name`. Throws Error if the graph has no such output.
  ValueId output(std::string_view name) const;
  bool has_output(std::string_view name) const;
  /// The values of all nodes of a source op (kInput, kParameter or kConstant), in graph order.
  std::vector<ValueId> sources(const OpDef& op) const;
  /// The value that owns the memory of `value`: for the output of a view op, the first value on the chain of view
  /// inputs that is not a view; else `value` itself.
  ValueId root_of(ValueId value) const;
  /// For every value the indices of the nodes that read it, in graph order; a node that reads a value through two
  /// inputs is listed twice.
  std::vector<std::vector<int>> readers() const;

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<ValueDef> values_;
  std::vector<NamedValue> outputs_;
};

/// Handle of a value of a graph under construction. A default-constructed handle is invalid: builder(), info(), shape()
/// and dtype() throw Error. A handle must not be used after the builder is destroyed.
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

/// Options of a graph under construction, which layers read from the builder.
struct BuildOptions {
  /// True: the graph is for training, so layers such as dropout and batch norm behave as in training. False: these
  /// layers behave as in prediction.
  bool training = false;
  /// The seed of the random numbers that ops such as dropout draw in each step.
  std::uint64_t seed = 0;
  /// The number of replicas among which the rows of a batch are divided, for layers that gather values of all replicas.
  std::int64_t replicas = 1;
  /// Returns whether the optimizer trains the parameter of a name. Null: it trains all parameters.
  std::function<bool(const std::string& name)> trains = {};
};

/// Builds a graph node by node. Shapes and dtypes are inferred as nodes are added, so a mismatch throws Error at once.
/// A builder cannot be copied or moved, because each Value points to its builder.
class GraphBuilder {
 public:
  explicit GraphBuilder(BuildOptions options = {});
  /// Begins with the nodes and outputs of an existing graph, whose values keep their ids.
  explicit GraphBuilder(Graph graph);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  bool training() const { return options_.training; }
  std::uint64_t seed() const { return options_.seed; }
  std::int64_t replicas() const { return options_.replicas; }
  /// Whether training changes `parameter`; false if the optimizer freezes it.
  bool trains(Value parameter) const {
    return !options_.trains || options_.trains(graph_.producer(parameter.id()).name);
  }

  /// Adds an input: a value that is given from outside at every step. Every function that adds a named source (an
  /// input, a parameter, a state or a buffer) throws Error if a node has the name already, or if no file or report can
  /// hold the name; see expect_name(). The names of parameters and buffers have no slash.
  Value input(const std::string& name, const Shape& shape, DType dtype = DType::float32);
  /// Adds a parameter: a trained float32 value that is kept from step to step. The names of the current scopes are put
  /// before the name (see Scope). The n-th parameter takes its initial values from random stream n of seed(), so
  /// parameters must be added in a fixed order. C++ does not order the operands of an expression: add at most one
  /// parameter in an expression. Throws Error if the shape has the leading size kBatch.
  Value parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// Adds a parameter of shape [N, ...], a table of N rows. A row whose gradient is zero in a step keeps its value and
  /// its optimizer state in that step, so a process needs only the rows that a batch reads. Lamb cannot update such a
  /// parameter. Throws Error if the shape has no axis or begins with kBatch.
  Value row_sparse_parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// True if a node is a row-sparse parameter.
  static bool is_row_sparse(const Node& node);
  /// Adds a state: a float32 value that is kept from step to step and not trained, such as a velocity. The names of the
  /// current scopes are not put before the name.
  Value state(const std::string& name, const Shape& shape, Initializer initializer);
  /// Adds a state of which every replica has a copy of its own. A copy is neither sent to other replicas nor saved with
  /// a model, and gets its initial values again after a failure. The names of the current scopes are not put before the
  /// name.
  Value replica_state(const std::string& name, const Shape& shape, Initializer initializer);
  /// Adds a buffer: a state of a model, such as a running mean, that is kept with the parameters. The names of the
  /// current scopes are put before the name.
  Value buffer(const std::string& name, const Shape& shape, Initializer initializer);
  /// Sets the value of a buffer after each training step to `next`, which must be the same on all replicas. Throws
  /// Error if `buffer` is not a buffer or state of this graph, has a next value already, or differs from `next` in
  /// shape or dtype.
  void next_value(Value buffer, Value next);
  /// Returns the batch info, int64[4] (see BatchInfo), which is the input named kBatchInfo; the first call adds the
  /// input. Throws Error if the graph has an input of that name with another shape or dtype.
  Value batch_info();
  static constexpr const char* kBatchInfo = "batch_info";
  /// The name of the output that next_value() adds for a buffer.
  static std::string name_of_next(const std::string& buffer) { return "next/" + buffer; }
  /// Returns the number of a new random stream: n - 1 in the n-th call of this function, so a model gets the same
  /// streams whenever it is built.
  std::int64_t next_random_stream() { return random_streams_++; }
  /// Adds a constant and returns its value. The graph keeps the tensor, whose elements must not change.
  Value constant(Tensor tensor);

  /// Adds a node that applies `op` to the inputs, and returns its outputs. `op` must live as long as any graph with the
  /// node. Throws Error if an input is not a valid value of this graph, if the op does not accept the inputs, or if the
  /// op updates a value that is not a parameter or that another node updates.
  std::vector<Value> apply(const OpDef& op, std::span<const Value> inputs, Attributes attributes = {});
  std::vector<Value> apply(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {}) {
    return apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes));
  }
  /// Adds a node and returns its first output; see apply().
  Value apply_one(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {}) {
    return apply(op, inputs, std::move(attributes)).at(0);
  }

  /// Adds a copy of another graph's node, with inputs of this graph, and returns its outputs. A number is put after the
  /// name of the copy if another node has the name. Throws the errors of apply().
  std::vector<Value> copy(Node node, std::span<const Value> inputs);
  /// Adds a copy of another graph's source (an input, parameter, state or constant) and returns its value. Throws Error
  /// if a node has the name of the source already.
  Value copy_source(Node node, const TensorInfo& info);

  /// Makes `value` an output of the graph under the name `name`. Throws Error if another output has the name, or if no
  /// report can hold it; see expect_name().
  void output(const std::string& name, Value value);

  Value value(ValueId id) { return {*this, id}; }
  const Graph& graph() const { return graph_; }
  Graph build() && { return std::move(graph_); }

  /// While the object lives, puts `name` and a dot before the names of new nodes and parameters, as in `conv1.weights`.
  /// The constructor throws Error if no file or report can hold the name; see expect_name().
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
  /// Connects the node to the inputs, infers the shapes and dtypes of the outputs and adds the node. Throws the errors
  /// of apply().
  std::vector<Value> add_op(Node node, std::span<const Value> inputs);
  Value add_source(Node node, const TensorInfo& info);
  void expect_parameter_name(const char* what, const std::string& name) const;
  std::vector<Value> add(Node node, std::span<const TensorInfo> outputs);
  /// Throws Error unless the first `outputs` inputs of an update node are parameters that no other node updates. Two
  /// updates of a parameter would run in an undefined order.
  void expect_updatable(const Node& node, std::size_t outputs) const;
  std::string unique_name(const std::string& name);

  Graph graph_;
  BuildOptions options_;
  std::int64_t random_streams_ = 0;
  std::map<std::string, int> last_numbers_;  // by node name: the last number put after the name
  std::string scope_;
};

/// The arguments of a gradient rule. `inputs`, `outputs` and `attributes` are those of the node whose gradient the rule
/// adds.
struct OpGradient {
  GraphBuilder& builder;
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  /// For each output, the gradient of the differentiated value, such as the loss, with respect to that output; an
  /// invalid Value if the differentiated value does not depend on the output.
  std::span<const Value> dys;
};

/// The gradient rule of an op with one input. The gradient of the input is `op` applied to the gradient of the output
/// and to the input, with the attributes of the node that is differentiated.
template <const OpDef& op>
std::vector<Value> grad_from_input(const OpGradient& g) {
  return {g.builder.apply_one(op, {g.dys[0], g.inputs[0]}, g.attributes)};
}
/// The gradient rule of an op with one input. The gradient of the input is `op` applied to the gradient of the output
/// and to the output, with the attributes of the node that is differentiated.
template <const OpDef& op>
std::vector<Value> grad_from_output(const OpGradient& g) {
  return {g.builder.apply_one(op, {g.dys[0], g.outputs[0]}, g.attributes)};
}

}  // namespace troupe
