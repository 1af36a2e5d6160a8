#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/initializer.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/attributes.hpp"
#include "troupe/ops/graph/op.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
/// The attribute of row-sparse parameters and of their updates.
inline constexpr const char* kRowSparse = "row_sparse";
/// The attribute of states that every replica has for itself.
inline constexpr const char* kPerReplica = "per_replica";

/// One op applied to values.
struct Node {
  const OpDef* op = nullptr;
  std::string name;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// Only for parameters: their initial values; those not trained are optimizer state.
  Initializer initializer;
  bool trainable = false;
  /// Only for constants.
  Tensor constant;

  bool is(const OpDef& other) const { return op == &other; }
};

/// The producer of a value, its shape and its dtype.
struct ValueDef {
  TensorInfo info;
  int node = -1;
  int output = 0;
};

struct NamedValue {
  std::string name;
  ValueId value = kNoValue;
};

/// An immutable program: op nodes in topological order. Built by GraphBuilder; changed only by making another graph of
/// it.
class Graph {
 public:
  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size()}; }
  std::span<const ValueDef> values() const { return {values_.data(), values_.size()}; }
  std::span<const NamedValue> outputs() const { return {outputs_.data(), outputs_.size()}; }

  const TensorInfo& info(ValueId value) const { return values_[value].info; }
  const Node& producer(ValueId value) const { return nodes_[values_[value].node]; }

  /// The output of that name. Throws Error if there is none.
  ValueId output(std::string_view name) const;
  bool has_output(std::string_view name) const;
  /// The values of all nodes of a source op, in graph order: kInput, kParameter or kConstant.
  std::vector<ValueId> sources(const OpDef& op) const;
  /// Follows views to the value that owns the memory.
  ValueId root_of(ValueId value) const;
  /// For every value the nodes that read it, in graph order.
  std::vector<std::vector<int>> readers() const;

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<ValueDef> values_;
  std::vector<NamedValue> outputs_;
};

/// Handle of a value of a graph under construction. Valid as long as its builder. Every accessor of an
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

/// What a graph is built for.
struct BuildOptions {
  /// Layers that behave differently in training do so: dropout, batch norm.
  bool training = false;
  /// Random numbers of the steps follow from it.
  std::uint64_t seed = 0;
};

/// Makes graphs. Shapes and dtypes are inferred as nodes are added, so a shape mismatch is an Error at once. Not
/// copyable or movable: values point to their builder.
class GraphBuilder {
 public:
  explicit GraphBuilder(BuildOptions options = {});
  /// Extends an existing graph: its values keep their ids.
  explicit GraphBuilder(Graph graph);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  bool training() const { return options_.training; }
  std::uint64_t seed() const { return options_.seed; }

  /// A value that is fed from outside at every step.
  Value input(const std::string& name, const Shape& shape, DType dtype = DType::float32);
  /// A trained value that outlives the step. The name gets the scope in front. The n-th parameter that is made has the
  /// n-th stream of random start values, so make them in a fixed order: not as operands of one expression, which C++
  /// may evaluate in any order.
  Value parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// As above, of a table of rows [N, ...]: a row whose gradient is zero in a step keeps its value and its optimizer
  /// state in that step, whatever the optimizer would do. So only rows that a batch reads have to be there.
  Value row_sparse_parameter(const std::string& name, const Shape& shape, Initializer initializer);
  /// Whether a node is such a parameter.
  static bool is_row_sparse(const Node& node);
  /// A value that outlives the step and is not trained, such as a velocity. The name is used as it is.
  Value state(const std::string& name, const Shape& shape, Initializer initializer);
  /// A state that every replica has for itself: what one has is not brought to others, nor saved with a model. After a
  /// failure it starts anew. The name is used as it is.
  Value replica_state(const std::string& name, const Shape& shape, Initializer initializer);
  /// A state of a model, such as a running mean, that is kept beside the parameters. The name gets the scope in front.
  Value buffer(const std::string& name, const Shape& shape, Initializer initializer);
  /// The value that a buffer has after a step, in training. It must be the same on all replicas. Throws Error if the
  /// buffer has one, or another shape or dtype.
  void next_value(Value buffer, Value next);
  /// Rows and step of the batch as int64[4]: the input kBatchInfo, made when it is first asked for.
  Value batch_info();
  static constexpr const char* kBatchInfo = "batch_info";
  /// The output that next_value makes of a buffer.
  static std::string name_of_next(const std::string& buffer) { return "next/" + buffer; }
  /// A number that no other caller gets, the same whenever a model is built: for random numbers of its own.
  std::int64_t next_random_stream() { return random_streams_++; }
  Value constant(Tensor tensor);

  /// Adds a node. `op` must live as long as any graph with it. Throws Error if the op does not take these inputs, or if
  /// it updates a value that is not a parameter or that another node updates.
  std::vector<Value> apply(const OpDef& op, std::span<const Value> inputs, Attributes attributes = {});
  /// As above, for an op with one output.
  Value apply_one(const OpDef& op, std::initializer_list<Value> inputs, Attributes attributes = {});

  /// Adds a copy of another graph's node, with inputs of this graph. It gets a number after its name if that is taken.
  std::vector<Value> copy(const Node& node, std::span<const Value> inputs);
  /// Adds a copy of another graph's source. Throws Error if its name is taken.
  Value copy_source(const Node& node, const TensorInfo& info);

  /// Names a value as a result of the graph.
  void output(const std::string& name, Value value);

  Value value(ValueId id) { return {*this, id}; }
  const Graph& graph() const { return graph_; }
  Graph build() && { return std::move(graph_); }

  /// Prefix of the names of nodes and parameters while it lives: `conv1.`.
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
  void expect_updatable(const Node& node, std::size_t outputs) const;
  std::string unique_name(const std::string& name);

  Graph graph_;
  BuildOptions options_;
  std::int64_t random_streams_ = 0;
  struct Names;
  std::unique_ptr<Names> names_;
  std::string scope_;
};

/// Arguments of a gradient rule.
struct OpGradient {
  GraphBuilder& builder;
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  /// Gradient of each output; an invalid Value where nothing depends on the output.
  std::span<const Value> dys;
};

}  // namespace troupe
