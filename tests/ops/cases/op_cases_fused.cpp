#include <algorithm>
#include <cmath>

#include "troupe/ops/fused/fused_elementwise.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

// Cases of the fused ops on elements: relu_grad_bias and fused_elementwise.

namespace troupe::ops_test {

namespace {

OpCase relu_grad_bias_case(const Shape& shape) {
  return exact_case(
      "relu_grad_bias " + to_string(shape), {{shape, Draw::eighths}, {shape, Draw::eighths}},
      [](const Values& x) { return x[0].builder().apply(kReluGradBias, x); },
      [](const Arrays& in) {
        const auto columns = in[0].sizes.back();
        Array dx(in[0].sizes), sums(Sizes{columns});
        for (std::size_t i = 0; i < dx.data.size(); ++i) {
          dx.data[i] = in[1].data[i] > 0.0 ? in[0].data[i] : 0.0;
          sums.data[i % static_cast<std::size_t>(columns)] += dx.data[i];
        }
        return Arrays{dx, sums};
      });
}

/// A step of a formula, and its function of positive numbers a and b.
struct StepCase {
  FormulaOp op;
  double (*f)(double a, double b);
  std::array<float, 2> numbers{};
};

double probability(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}
double density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::acos(-1.0));
}

const std::vector<StepCase> kSteps{
    {FormulaOp::add, [](double a, double b) { return a + b; }},
    {FormulaOp::sub, [](double a, double b) { return a - b; }},
    {FormulaOp::mul, [](double a, double b) { return a * b; }},
    {FormulaOp::div, [](double a, double b) { return a / b; }},
    {FormulaOp::scale, [](double a, double) { return -1.5 * a; }, {-1.5F}},
    {FormulaOp::relu, [](double a, double) { return std::max(a, 0.0); }},
    {FormulaOp::relu_grad, [](double a, double b) { return b > 0.0 ? a : 0.0; }},
    {FormulaOp::exp, [](double a, double) { return std::exp(a); }},
    {FormulaOp::log, [](double a, double) { return std::log(a); }},
    {FormulaOp::sqrt, [](double a, double) { return std::sqrt(a); }},
    {FormulaOp::rsqrt, [](double a, double) { return 1.0 / std::sqrt(a); }},
    {FormulaOp::abs, [](double a, double) { return std::abs(a); }},
    {FormulaOp::abs_grad, [](double a, double b) { return b > 0.0 ? a : -a; }},
    {FormulaOp::pow, [](double a, double) { return std::pow(a, 1.5); }, {1.5F}},
    {FormulaOp::pow, [](double a, double) { return a * a; }, {2.0F}},
    {FormulaOp::clip, [](double a, double) { return std::clamp(a, 0.25, 0.5); }, {0.25F, 0.5F}},
    {FormulaOp::clip_grad, [](double a, double b) { return b < 0.25 || b > 0.5 ? 0.0 : a; }, {0.25F, 0.5F}},
    {FormulaOp::tanh, [](double a, double) { return std::tanh(a); }},
    {FormulaOp::tanh_grad, [](double a, double b) { return a * (1.0 - b * b); }},
    {FormulaOp::sigmoid, [](double a, double) { return reference::sigmoid(a); }},
    {FormulaOp::sigmoid_grad, [](double a, double b) { return a * b * (1.0 - b); }},
    {FormulaOp::gelu, [](double a, double) { return a * probability(a); }},
    {FormulaOp::gelu_grad, [](double a, double b) { return a * (probability(b) + b * density(b)); }},
    {FormulaOp::gelu_tanh, [](double a, double) { return reference::gelu_tanh(a); }},
    {FormulaOp::gelu_tanh_grad, [](double a, double b) { return a * reference::gelu_tanh_slope(b); }},
    {FormulaOp::silu, [](double a, double) { return a * reference::sigmoid(a); }},
    {FormulaOp::silu_grad,
     [](double a, double b) { return a * reference::sigmoid(b) * (1.0 + b * (1.0 - reference::sigmoid(b))); }},
    {FormulaOp::softplus, [](double a, double) { return std::log1p(std::exp(a)); }},
};

/// The formula (repeated - f(a, b)) * a, where f is the step and `repeated` is an input that repeats along the result.
OpCase step_case(const StepCase& step, const Shape& a, const Shape& b, const Shape& repeated) {
  const Formula formula{{{step.op, {0, 1}, step.numbers}, {FormulaOp::sub, {2, 3}}, {FormulaOp::mul, {4, 0}}}};
  const auto element = [](const Array& array, std::size_t i) { return array.data[i % array.data.size()]; };
  auto result = exact_case(
      "fused_elementwise of " + std::string(op_of(step.op).name) + " " + std::to_string(step.numbers[0]) + " " +
          to_string(a) + " " + to_string(b) + " " + to_string(repeated),
      {{a, Draw::positive}, {b, Draw::positive}, {repeated}},
      [formula](const Values& x) { return x[0].builder().apply(kFusedElementwise, x, formula.attributes()); },
      [f = step.f, element](const Arrays& in) {
        Array y(in[0].sizes);
        for (std::size_t i = 0; i < y.data.size(); ++i)
          y.data[i] = (element(in[2], i) - f(in[0].data[i], element(in[1], i))) * in[0].data[i];
        return Arrays{y};
      });
  result.tolerance = 1e-5;
  return result;
}

}  // namespace

std::vector<OpCase> fused_cases() {
  std::vector<OpCase> cases;
  for (const auto& shape :
       {Shape{kBatch, 5}, Shape{kBatch, 1}, Shape{kBatch, 3, 2, 4}, Shape{kBatch, 70}, Shape{2000, 33}, Shape{3, 0}})
    cases.push_back(relu_grad_bias_case(shape));
  for (const auto& step : kSteps) cases.push_back(step_case(step, {kBatch, 6}, {kBatch, 6}, {6}));
  cases.push_back(step_case(kSteps[0], {kBatch, 2, 3}, {2, 3}, {}));
  cases.push_back(step_case(kSteps[2], {kBatch, 2, 3}, {1, 1}, {1, 2, 3}));
  cases.push_back(step_case(kSteps[1], {50, 60}, {60}, {50, 60}));
  return cases;
}

}  // namespace troupe::ops_test
