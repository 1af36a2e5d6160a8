#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The element-wise ops that a formula may have.
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

/// That of an op, if there is one, and back.
std::optional<FormulaOp> formula_op_of(const OpDef& op);
const OpDef& op_of(FormulaOp op);

/// One op on elements, each an input or the result of an earlier step.
struct FormulaStep {
  FormulaOp op = FormulaOp::add;
  /// Number k is input k or, beyond the inputs, the result of a step. An op on one element has its operand twice.
  std::array<std::int32_t, 2> operands{};
  /// The attributes of the op, rounded as its kernels round them.
  std::array<float, 2> numbers{};

  bool has_two_operands() const;
  /// The attributes that a node of this op would have.
  Attributes attributes() const;
};

/// How every element of a result is computed from elements of the inputs: the last step gives it. The op
/// `fused_elementwise` has it as its attribute; each input has the shape of the result, or of its last axes (and then
/// repeats).
struct Formula {
  static constexpr std::size_t kMostInputs = 8, kMostSteps = 16;

  std::vector<FormulaStep> steps;

  Attributes attributes() const;
  /// Throws Error if the attributes are not those of some formula.
  static Formula from(const Attributes& attributes);
};

/// A step for a node of an op of formulas, without its operands.
FormulaStep step_of(const Node& node);

/// Whether a value can be an input of a formula with results of that shape.
bool repeats_along(const Shape& input, const Shape& result);

}  // namespace troupe
