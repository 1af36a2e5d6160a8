#include "troupe/ops/passes/gradient.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

/// For every value of the graph: true if it depends on one of `roots`.
std::vector<bool> dependents(const Graph& graph, std::span<const Value> roots) {
  std::vector<bool> depends(graph.values().size(), false);
  for (const auto& root : roots) depends[root.id()] = true;
  for (const auto& node : graph.nodes()) {
    if (std::ranges::none_of(node.inputs, [&](ValueId input) { return depends[input]; })) continue;
    for (auto output : node.outputs) depends[output] = true;
  }
  return depends;
}

/// The backward pass from y to the values `wrt`.
class Backward {
 public:
  Backward(Value y, std::span<const Value> wrt)
      : builder_(y.builder()), depends_(dependents(builder_.graph(), wrt)), gradients_(depends_.size()) {
    gradients_[y.id()] = builder_.constant(Tensor::scalar(1.0F));
  }

  /// Computes the gradients: visits the nodes in reverse order, beginning with the node that computes y.
  void run(Value y) {
    for (int i = builder_.graph().values()[y.id()].node; i >= 0; --i) visit(builder_.graph().nodes()[i]);
  }

  /// The gradient of y with respect to a value; zeros if y does not depend on it. The zeros are float32 if the value is
  /// not a float.
  Value of(Value value) {
    auto gradient = gradients_[value.id()];
    if (gradient.valid()) return gradient;
    const auto dtype = is_float(value.dtype()) ? value.dtype() : DType::float32;
    if (!value.shape().has_batch()) return builder_.constant(Tensor(value.shape(), dtype));
    // A constant has no symbolic size, but broadcast_to can repeat it along the batch.
    const std::vector<std::int64_t> ones(value.shape().rank(), 1);
    return builder_.apply_one(kBroadcastTo, {builder_.constant(Tensor(Shape(ones), dtype)), value});
  }

 private:
  // The node is a copy, because adding nodes to the graph may move the nodes in memory.
  void visit(Node node) {
    std::vector<Value> dys;
    for (auto output : node.outputs) dys.push_back(gradients_[output]);
    const auto depends = [&](ValueId input) { return depends_[input]; };
    if (std::ranges::none_of(dys, &Value::valid) || std::ranges::none_of(node.inputs, depends)) return;
    if (node.op->gradient == nullptr) throw Error("gradient", "op '" + node.name + "' has no gradient");
    std::vector<Value> inputs, outputs;
    for (auto id : node.inputs) inputs.push_back(builder_.value(id));
    for (auto id : node.outputs) outputs.push_back(builder_.value(id));
    GraphBuilder::Scope scope(builder_, "grad");
    const auto dxs = node.op->gradient({builder_, node.attributes, inputs, outputs, dys});
    for (std::size_t i = 0; i < dxs.size(); ++i)
      if (dxs[i].valid() && depends_[node.inputs[i]]) accumulate(node.inputs[i], dxs[i]);
  }

  // Adds a contribution to the gradient of a value, cast to the dtype of the value: gradient rules that sum over the
  // batch give float32 also for 16-bit values.
  void accumulate(ValueId value, Value gradient) {
    gradient = cast_to(gradient, builder_.graph().info(value).dtype);
    auto& sum = gradients_[value];
    sum = sum.valid() ? add(sum, gradient) : gradient;
  }

  GraphBuilder& builder_;
  std::vector<bool> depends_;     // by value: true if it depends on one of `wrt`
  std::vector<Value> gradients_;  // by value, the sum of the contributions so far; invalid if there are none
};

}  // namespace

std::vector<Value> gradients(Value y, std::span<const Value> wrt) {
  if (!(y.info() == TensorInfo{Shape{}, DType::float32}))
    throw Error("gradient", "needs a float32 scalar, not " + to_string(y.info()));
  Backward backward(y, wrt);
  backward.run(y);
  std::vector<Value> result;
  for (const auto& value : wrt) result.push_back(backward.of(value));
  return result;
}

std::vector<bool> dependencies_of(const Graph& graph, ValueId y) {
  std::vector<bool> needed(graph.values().size(), false);
  needed[y] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node)
    if (std::ranges::any_of(node->outputs, [&](ValueId output) { return needed[output]; }))
      for (const auto input : node->inputs) needed[input] = true;
  return needed;
}

Graph gradient(Graph graph, const std::string& loss) {
  GraphBuilder builder(std::move(graph));
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources(kParameter))
    if (builder.graph().producer(id).trainable) parameters.push_back(builder.value(id));
  const auto parameter_gradients = gradients(builder.value(builder.graph().output(loss)), parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    builder.output("gradient/" + builder.graph().producer(parameters[i].id()).name, parameter_gradients[i]);
  return std::move(builder).build();
}

}  // namespace troupe
