#include <algorithm>
#include <map>
#include <span>

#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/readers.hpp"
#include "troupe/ops/passes/rewrite.hpp"

namespace troupe {

namespace {

bool follows_inputs(HalfRole role) {
  return role == HalfRole::follows || role == HalfRole::activation_gradient;
}

class Narrowing {
 public:
  Narrowing(const Graph& graph, DType dtype)
      : graph_(graph), dtype_(dtype), readers_(graph), rewrite_(graph), values_(graph.values().size()) {}

  Graph run() {
    for (const auto& node : graph_.nodes()) visit(node);
    for (const auto& named : graph_.outputs()) rewrite_.map(named.value, in(named.value, own_dtype(named.value)));
    return std::move(rewrite_).finish();
  }

 private:
  /// A value of the old graph in the new one: as it is computed there, and its casts.
  using Versions = std::map<DType, Value>;

  DType own_dtype(ValueId value) const { return graph_.info(value).dtype; }
  bool is_float32(ValueId value) const { return own_dtype(value) == DType::float32; }
  bool has_batch(ValueId value) const { return graph_.info(value).shape.has_batch(); }
  /// Whether it is computed in the 16-bit dtype, though float32 in the old graph.
  bool is_narrow(ValueId value) const { return is_float32(value) && rewrite_.mapped(value).dtype() == dtype_; }

  void visit(const Node& node) {
    if (node.op->kind == OpKind::source) return rewrite_.copy(node);
    if (node.is(kCast)) return visit_cast(node);
    const auto role = node.op->role;
    const bool narrow = role == HalfRole::product ? is_of_batch(node) : follows_inputs(role) && follows(node);
    if (role == HalfRole::reads)
      copy(node, node.attributes, [&](ValueId input) { return rewrite_.mapped(input).dtype(); });
    else if (narrow)
      copy_narrow(node);
    else
      copy(node, node.attributes, [&](ValueId input) { return own_dtype(input); });
    if (node.op->kind == OpKind::update) forget_casts(node);
  }

  /// Whether a product is one of float32 numbers that derive from the batch: not one of gradients or parameters alone.
  bool is_of_batch(const Node& product) const {
    return std::ranges::all_of(product.inputs, [&](ValueId input) { return is_float32(input); }) &&
           std::ranges::any_of(product.inputs, [&](ValueId input) { return has_batch(input); });
  }

  /// Whether all that a node reads of the batch is 16-bit; where it is the gradient of an activation, what that read or
  /// gave is enough.
  bool follows(const Node& node) const {
    bool found = false;
    for (const auto input : std::span(node.inputs).subspan(node.op->role == HalfRole::activation_gradient ? 1 : 0)) {
      if (!is_float32(input) || !has_batch(input)) continue;
      if (!is_narrow(input)) return false;
      found = true;
    }
    return found;
  }

  void copy_narrow(const Node& node) {
    auto attributes = node.attributes;
    const bool wide_result = node.is(kMatmul) && result_is_float32(node);
    if (wide_result) attributes = attributes.with(kFloat32Result, true);
    copy(node, attributes, [&](ValueId input) {
      const bool is_bias = node.is(kMatmul) && node.inputs.size() == 3 && input == node.inputs[2];
      return is_float32(input) && !(is_bias && wide_result) ? dtype_ : own_dtype(input);
    });
  }

  /// Whether a product is a sum over the batch, or is read as float32 only.
  bool result_is_float32(const Node& product) const {
    const auto result = product.outputs[0];
    return !has_batch(result) || std::ranges::all_of(readers_.of(result), [&](int reader) {
      return reads_float32(graph_.nodes()[static_cast<std::size_t>(reader)], result);
    });
  }

  /// Whether a node reads a value as float32, whatever the value is: also to meet another that is float32 already.
  bool reads_float32(const Node& reader, ValueId value) const {
    const auto role = reader.op->role;
    if (role == HalfRole::product || role == HalfRole::activation_gradient) return false;
    if (role != HalfRole::follows) return true;
    return std::ranges::any_of(reader.inputs, [&](ValueId other) {
      const bool is_there = graph_.values()[other].node < graph_.values()[value].node;
      return is_there && is_float32(other) && has_batch(other) && !is_narrow(other);
    });
  }

  template <class DTypeOf>
  void copy(const Node& node, const Attributes& attributes, DTypeOf dtype_of_input) {
    std::vector<Value> inputs;
    for (const auto input : node.inputs) inputs.push_back(in(input, dtype_of_input(input)));
    Node changed = node;
    changed.attributes = attributes;
    const auto outputs = rewrite_.builder().copy(changed, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) rewrite_.map(node.outputs[i], outputs[i]);
  }

  // A cast to what a value is already is the value itself.
  void visit_cast(const Node& node) {
    if (is_narrow(node.inputs[0]))
      rewrite_.map(node.outputs[0], in(node.inputs[0], own_dtype(node.outputs[0])));
    else
      rewrite_.copy(node);
  }

  /// A value in a dtype; all that read it so share the cast.
  Value in(ValueId value, DType dtype) {
    const auto computed = rewrite_.mapped(value);
    if (computed.dtype() == dtype) return computed;
    auto& version = values_[static_cast<std::size_t>(value)][dtype];
    if (!version.valid()) version = cast(computed, dtype);
    return version;
  }

  /// What reads an updated parameter from now on reads its new value.
  void forget_casts(const Node& update) {
    for (std::size_t i = 0; i < update.outputs.size(); ++i) {
      const auto root = graph_.root_of(update.inputs[i]);
      for (std::size_t value = 0; value < values_.size(); ++value)
        if (!values_[value].empty() && graph_.root_of(static_cast<ValueId>(value)) == root) values_[value].clear();
    }
  }

  const Graph& graph_;
  DType dtype_;
  Readers readers_;
  Rewrite rewrite_;
  std::vector<Versions> values_;
};

}  // namespace

Graph compute_in(const Graph& graph, DType dtype) {
  return Narrowing(graph, dtype).run();
}

}  // namespace troupe
