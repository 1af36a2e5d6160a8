#include "troupe/ops/fused/fused_elementwise.hpp"

#include <algorithm>
#include <bit>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// An element-wise op that formulas can contain. `attributes` has the names of its numeric attributes in the order of
/// FormulaStep::numbers; null where the op has no attribute.
struct Entry {
  FormulaOp formula_op;
  const OpDef* op;
  bool has_two_operands;
  std::array<const char*, 2> attributes{};
};

constexpr std::array kEntries{
    Entry{FormulaOp::add, &kAdd, true},
    Entry{FormulaOp::sub, &kSub, true},
    Entry{FormulaOp::mul, &kMul, true},
    Entry{FormulaOp::div, &kDiv, true},
    Entry{FormulaOp::scale, &kScale, false, {"factor"}},
    Entry{FormulaOp::relu, &kRelu, false},
    Entry{FormulaOp::relu_grad, &kReluGrad, true},
    Entry{FormulaOp::exp, &kExp, false},
    Entry{FormulaOp::log, &kLog, false},
    Entry{FormulaOp::sqrt, &kSqrt, false},
    Entry{FormulaOp::rsqrt, &kRsqrt, false},
    Entry{FormulaOp::abs, &kAbs, false},
    Entry{FormulaOp::abs_grad, &kAbsGrad, true},
    Entry{FormulaOp::pow, &kPow, false, {"exponent"}},
    Entry{FormulaOp::clip, &kClip, false, {"least", "most"}},
    Entry{FormulaOp::clip_grad, &kClipGrad, true, {"least", "most"}},
    Entry{FormulaOp::tanh, &kTanh, false},
    Entry{FormulaOp::tanh_grad, &kTanhGrad, true},
    Entry{FormulaOp::sigmoid, &kSigmoid, false},
    Entry{FormulaOp::sigmoid_grad, &kSigmoidGrad, true},
    Entry{FormulaOp::gelu, &kGelu, false},
    Entry{FormulaOp::gelu_grad, &kGeluGrad, true},
    Entry{FormulaOp::silu, &kSilu, false},
    Entry{FormulaOp::silu_grad, &kSiluGrad, true},
    Entry{FormulaOp::softplus, &kSoftplus, false},
    Entry{FormulaOp::gelu_tanh, &kGeluTanh, false},
    Entry{FormulaOp::gelu_tanh_grad, &kGeluTanhGrad, true},
    Entry{FormulaOp::at_least, &kAtLeast, false, {"threshold"}},
};

const Entry& entry_of(FormulaOp op) {
  return *std::ranges::find(kEntries, op, &Entry::formula_op);
}

// The attribute of a fused_elementwise node that holds the steps of its formula, kStepWords integers for each step: the
// op, two operands, and the bits of two float32 numbers.
constexpr const char* kSteps = "steps";
constexpr std::size_t kStepWords = 5;

/// The shape and dtype of the result of a step. `values` has the shapes and dtypes of the inputs of the formula,
/// followed by those of the results of all earlier steps. Throws Error for an operand that is none of them, or that the
/// op of the step does not accept.
TensorInfo infer_step(const OpInputs& inputs, const FormulaStep& step, const std::vector<TensorInfo>& values) {
  std::vector<TensorInfo> operands;
  for (const auto operand : step.operands) {
    if (operand < 0 || static_cast<std::size_t>(operand) >= values.size())
      inputs.refuse("a step has an operand " + std::to_string(operand) + ", which no input or earlier step gives");
    operands.push_back(values[static_cast<std::size_t>(operand)]);
  }
  if (!step.has_two_operands()) operands.pop_back();
  const auto attributes = step.attributes();
  return op_of(step.op).infer({inputs.op, operands, attributes})[0];
}

std::vector<TensorInfo> infer_fused(const OpInputs& inputs) {
  const auto formula = Formula::from(inputs.attributes);
  inputs.expect_count(1, Formula::kMostInputs);
  inputs.expect_float(0);
  for (std::size_t i = 1; i < inputs.size(); ++i) inputs.expect_dtype(i, inputs[0].dtype);
  std::vector<TensorInfo> values(inputs.infos.begin(), inputs.infos.end());
  for (const auto& step : formula.steps) values.push_back(infer_step(inputs, step, values));
  for (auto result = values.begin() + static_cast<std::ptrdiff_t>(inputs.size()); result != values.end(); ++result)
    if (!(*result == values.back())) inputs.refuse("the results of its steps have different shapes");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!repeats_along(inputs.shape(i), values.back().shape))
      inputs.refuse("an input must have the last axes of the result, " + to_string(values.back()));
  return {values.back()};
}

}  // namespace

const OpDef kFusedElementwise{.name = "fused_elementwise", .infer = infer_fused, .role = HalfRole::follows};

const OpDef& op_of(FormulaOp op) {
  return *entry_of(op).op;
}

bool is_element_wise(const OpDef& op) {
  return std::ranges::find(kEntries, &op, &Entry::op) != kEntries.end();
}

bool FormulaStep::has_two_operands() const {
  return entry_of(op).has_two_operands;
}

Attributes FormulaStep::attributes() const {
  Attributes attributes;
  const auto& names = entry_of(op).attributes;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != nullptr) attributes = attributes.with(names[i], static_cast<double>(numbers[i]));
  return attributes;
}

std::optional<FormulaStep> step_of(const Node& node) {
  const auto entry = std::ranges::find(kEntries, node.op, &Entry::op);
  if (entry == kEntries.end()) return std::nullopt;
  FormulaStep step{.op = entry->formula_op};
  for (std::size_t i = 0; i < step.numbers.size(); ++i)
    if (entry->attributes[i] != nullptr)
      step.numbers[i] = static_cast<float>(node.attributes.number(entry->attributes[i]));
  return step;
}

Attributes Formula::attributes() const {
  std::vector<std::int64_t> words;
  for (const auto& step : steps) {
    words.push_back(static_cast<std::int64_t>(step.op));
    for (const auto operand : step.operands) words.push_back(operand);
    for (const auto number : step.numbers) words.push_back(std::bit_cast<std::uint32_t>(number));
  }
  return {{kSteps, std::move(words)}};
}

Formula Formula::from(const Attributes& attributes) {
  const auto& words = attributes.list(kSteps);
  if (words.empty() || words.size() % kStepWords != 0 || words.size() > kStepWords * kMostSteps)
    throw Error(kFusedElementwise.name, "the attribute 'steps' has " + std::to_string(words.size()) +
                                            " numbers, which are not those of 1 to " + std::to_string(kMostSteps) +
                                            " steps");
  Formula formula;
  for (auto word = words.begin(); word != words.end(); word += kStepWords) {
    if (word[0] < 0 || word[0] >= static_cast<std::int64_t>(kEntries.size()))
      throw Error(kFusedElementwise.name, "no op of formulas has the number " + std::to_string(word[0]));
    const auto number = [](std::int64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
    formula.steps.push_back({static_cast<FormulaOp>(word[0]),
                             {static_cast<std::int32_t>(word[1]), static_cast<std::int32_t>(word[2])},
                             {number(word[3]), number(word[4])}});
  }
  return formula;
}

bool repeats_along(const Shape& input, const Shape& result) {
  auto axes = input.rank();
  while (axes > 0 && input.back(axes - 1) == 1) --axes;
  if (axes > result.rank()) return false;
  for (std::size_t i = 0; i < axes; ++i)
    if (input.back(i) != result.back(i)) return false;
  return true;
}

}  // namespace troupe
