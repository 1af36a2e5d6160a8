#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// The op `fused_elementwise` computes a formula of several element-wise ops. A pass (fuse_elementwise) makes it, not
// users.

/// The element-wise ops of formulas.
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

/// The op with a number in formulas.
const OpDef& op_of(FormulaOp op);

/// One op of a formula.
struct FormulaStep {
  FormulaOp op = FormulaOp::add;
  /// An operand is the number of an input or, counted on from the inputs, of an earlier step. An op with one operand
  /// has it twice.
  std::array<std::int32_t, 2> operands{};
  /// The attributes of the op in float32, as its kernels round them.
  std::array<float, 2> numbers{};

  bool has_two_operands() const;
  /// The attributes of a node of this op.
  Attributes attributes() const;
};

/// The computation of one element of a result from elements of the inputs. The last step gives the element. Each input
/// has the shape of the result or of its last axes, along which it repeats.
struct Formula {
  static constexpr std::size_t kMostInputs = 8, kMostSteps = 16;

  std::vector<FormulaStep> steps;

  /// The attributes of a fused_elementwise node.
  Attributes attributes() const;
  /// Throws Error if the attributes do not describe a formula.
  static Formula from(const Attributes& attributes);
};

/// The step for a node, whose operands are not set; nothing if formulas cannot have its op.
std::optional<FormulaStep> step_of(const Node& node);

/// True if a value can be an input of a formula with results of the shape `result`: `input` is equal to its last axes,
/// up to leading axes of size 1.
bool repeats_along(const Shape& input, const Shape& result);

}  // namespace troupe
