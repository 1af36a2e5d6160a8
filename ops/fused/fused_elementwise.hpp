#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// The op `fused_elementwise` computes a formula of several element-wise ops. The pass fuse_elementwise adds it; it has
// no function for users.

/// The element-wise ops that formulas can contain.
enum class FormulaOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  scale,
  relu,
  relu_grad,
  exp,
  log,
  sqrt,
  rsqrt,
  abs,
  abs_grad,
  pow,
  clip,
  clip_grad,
  tanh,
  tanh_grad,
  sigmoid,
  sigmoid_grad,
  gelu,
  gelu_grad,
  silu,
  silu_grad,
  softplus,
  gelu_tanh,
  gelu_tanh_grad,
  at_least,
};

/// The library op, such as kAdd, that a step with `op` computes.
const OpDef& op_of(FormulaOp op);
/// True if formulas can contain an op: each element of its result then depends on one element of each input.
bool is_element_wise(const OpDef& op);

/// One op of a formula.
struct FormulaStep {
  FormulaOp op = FormulaOp::add;
  /// The operands by number: 0 to n-1 are the n inputs of the formula, and n + i is the result of step i, which must be
  /// an earlier step. A step with one operand has the same number twice.
  std::array<std::int32_t, 2> operands{};
  /// The numeric attributes of the op, such as the factor of `scale`, rounded to float32 as the op's own kernels round
  /// them; 0 where the op has no attribute.
  std::array<float, 2> numbers{};

  bool has_two_operands() const;
  /// The attributes of a node that computes this step alone, a node of op_of(op).
  Attributes attributes() const;
};

/// Computes one element of the result from one element of each input. The result of the last step is the element. Each
/// input must have the shape of the result, or the shape of its last axes and is then repeated along the others.
struct Formula {
  static constexpr std::size_t kMostInputs = 8, kMostSteps = 16;

  std::vector<FormulaStep> steps;

  /// The attributes of a fused_elementwise node with this formula.
  Attributes attributes() const;
  /// The formula of a fused_elementwise node with these attributes. Throws Error if the attributes do not describe a
  /// formula.
  static Formula from(const Attributes& attributes);
};

/// The step that computes a node, with operands that are still to be set; nothing if formulas cannot contain the op.
std::optional<FormulaStep> step_of(const Node& node);

/// True if a value of the shape `input` can be an input of a formula whose result has the shape `result`: without its
/// leading axes of size 1, `input` must be equal to the last axes of `result`.
bool repeats_along(const Shape& input, const Shape& result);

}  // namespace troupe
