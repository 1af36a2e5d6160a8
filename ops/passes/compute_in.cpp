#include <algorithm>
#include <map>
#include <span>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/ops/passes/uses.hpp"

namespace troupe {

namespace {

/// Computes the nodes of a graph in a 16-bit dtype where their HalfRole allows it. A value is narrow if it is float32
/// in the old graph and has the 16-bit dtype in the new graph.
class Narrowing {
 public:
  Narrowing(const Graph& graph, DType dtype, NormDType norms)
      : graph_(graph), dtype_(dtype), norms_(norms), uses_(graph), rewrite_(graph), casts_(graph.values().size()) {}

  Graph run() {
    for (const auto& node : graph_.nodes()) visit(node);
    for (const auto& named : graph_.outputs()) rewrite_.map(named.value, in(named.value, old_dtype(named.value)));
    return std::move(rewrite_).finish();
  }

 private:
  DType old_dtype(ValueId value) const { return graph_.info(value).dtype; }
  bool is_float32(ValueId value) const { return old_dtype(value) == DType::float32; }
  bool has_batch(ValueId value) const { return graph_.info(value).shape.has_batch(); }
  bool is_narrow(ValueId value) const { return is_float32(value) && rewrite_.mapped(value).dtype() == dtype_; }

  void visit(const Node& node) {
    if (node.op->kind == OpKind::source) return rewrite_.copy(node);
    if (node.is(kCast)) return visit_cast(node);
    const auto role = node.op->role;
    const bool narrow = role == HalfRole::product ? reads_batch(node) : follows(role) && inputs_are_narrow(node);
    if (role == HalfRole::reads)
      copy(node, [&](ValueId input) { return rewrite_.mapped(input).dtype(); });
    else if (node.is(kBroadcastTo))
      copy_broadcast(node);
    else if (narrow)
      copy_narrow(node);
    else
      copy(node, [&](ValueId input) { return old_dtype(input); });
    if (node.op->kind == OpKind::update) forget_casts(node);
  }

  static bool is_norm(HalfRole role) { return role == HalfRole::image_norm || role == HalfRole::image_norm_gradient; }
  static bool is_gradient(HalfRole role) {
    return role == HalfRole::activation_gradient || role == HalfRole::image_norm_gradient;
  }
  /// True if an op with this role is computed in 16 bits where its inputs are.
  bool follows(HalfRole role) const {
    return role == HalfRole::follows || role == HalfRole::activation_gradient ||
           (norms_ == NormDType::narrow && is_norm(role));
  }

  /// True if all inputs of a product are float32 and at least one has the batch axis B. Products of parameters and
  /// their gradients alone stay float32.
  bool reads_batch(const Node& product) const {
    return std::ranges::all_of(product.inputs, [&](ValueId input) { return is_float32(input); }) &&
           std::ranges::any_of(product.inputs, [&](ValueId input) { return has_batch(input); });
  }

  /// True if a node has float32 inputs with the batch axis B and all of them are narrow. In the gradient of an
  /// activation or norm the first input, dy, does not count.
  bool inputs_are_narrow(const Node& node) const {
    bool any_narrow = false;
    for (const auto input : std::span(node.inputs).subspan(is_gradient(node.op->role) ? 1 : 0)) {
      if (!is_float32(input) || !has_batch(input)) continue;
      if (!is_narrow(input)) return false;
      any_narrow = true;
    }
    return any_narrow;
  }

  void copy_narrow(Node node) {
    const bool wide_result = node.is(kMatmul) && result_is_float32(node);
    if (wide_result) node.attributes = node.attributes.with(kFloat32Result, true);
    copy(node, [&](ValueId input) {
      const bool is_bias = node.is(kMatmul) && node.inputs.size() == 3 && input == node.inputs[2];
      const bool is_statistic = is_norm(node.op->role) && !has_batch(input);
      return is_float32(input) && !(is_bias && wide_result) && !is_statistic ? dtype_ : old_dtype(input);
    });
  }

  /// True if a product of 16-bit factors keeps a float32 result: the result has no batch axis B, so it is a sum over
  /// the batch, or reads_float32() is true for all nodes that read the result.
  bool result_is_float32(const Node& product) const {
    const auto result = product.outputs[0];
    return !has_batch(result) || std::ranges::all_of(uses_.readers_of(result), [&](int reader) {
      return reads_float32(graph_.nodes()[reader], result);
    });
  }

  /// True if `reader` has no use for `value` in 16 bits, by the HalfRole of its op: `none`, so it reads float32;
  /// `reads`, so it takes any float; or `follows` or `image_norm`, and another input with the batch axis B, computed
  /// before `value`, stays float32.
  bool reads_float32(const Node& reader, ValueId value) const {
    const auto role = reader.op->role;
    if (role == HalfRole::product || (follows(role) && is_gradient(role))) return false;
    if (!follows(role)) return true;
    return std::ranges::any_of(reader.inputs, [&](ValueId other) {
      const bool computed_before = graph_.values()[other].node < graph_.values()[value].node;
      return computed_before && is_float32(other) && has_batch(other) && !is_narrow(other);
    });
  }

  // Input 1 of broadcast_to gives only the shape, so it is not cast.
  void copy_broadcast(const Node& node) {
    const Value inputs[] = {in(node.inputs[0], old_dtype(node.inputs[0])), rewrite_.mapped(node.inputs[1])};
    rewrite_.copy(node, inputs);
  }

  template <class DTypeOf>
  void copy(const Node& node, DTypeOf dtype_of_input) {
    std::vector<Value> inputs;
    for (const auto input : node.inputs) inputs.push_back(in(input, dtype_of_input(input)));
    rewrite_.copy(node, inputs);
  }

  // A cast of a narrow value converts the 16-bit value of the new graph. If the cast is to that 16-bit dtype, it adds
  // no node. Other casts are copied.
  void visit_cast(const Node& node) {
    if (is_narrow(node.inputs[0]))
      rewrite_.map(node.outputs[0], in(node.inputs[0], old_dtype(node.outputs[0])));
    else
      rewrite_.copy(node);
  }

  /// The new value for an old one, cast to `dtype` if it has another dtype. All readers in one dtype share one cast,
  /// until an update overwrites the value; see forget_casts().
  Value in(ValueId value, DType dtype) {
    const auto computed = rewrite_.mapped(value);
    if (computed.dtype() == dtype) return computed;
    auto& cast_value = casts_[value][dtype];
    if (!cast_value.valid()) cast_value = cast(computed, dtype);
    return cast_value;
  }

  /// Drops the casts of values that an update overwrites: later readers need casts of the new values.
  void forget_casts(const Node& update) {
    for (std::size_t i = 0; i < update.outputs.size(); ++i) {
      const auto root = graph_.root_of(update.inputs[i]);
      for (std::size_t value = 0; value < casts_.size(); ++value)
        if (!casts_[value].empty() && graph_.root_of(static_cast<ValueId>(value)) == root) casts_[value].clear();
    }
  }

  const Graph& graph_;
  DType dtype_;
  NormDType norms_;
  Uses uses_;
  Rewrite rewrite_;
  std::vector<std::map<DType, Value>> casts_;  // by old value, its cast to each dtype
};

}  // namespace

Graph compute_in(const Graph& graph, DType dtype, NormDType norms) {
  return Narrowing(graph, dtype, norms).run();
}

}  // namespace troupe
