#include <cmath>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

struct Unary {
  const char* name;
  Value (*op)(Value);
  double (*reference)(double);
  Draw draw = Draw::uniform;
};

const Unary kUnaries[] = {
    {"exp", exp, std::exp},
    {"log", log, std::log, Draw::near_one},
    {"sqrt", sqrt, std::sqrt, Draw::near_one},
    {"rsqrt", rsqrt, [](double x) { return 1.0 / std::sqrt(x); }, Draw::near_one},
    {"abs", abs, [](double x) { return std::abs(x); }, Draw::away_from_zero},
    {"neg", neg, [](double x) { return -x; }},
    {"pow 3", [](Value x) { return pow(x, 3.0); }, [](double x) { return x * x * x; }},
    {"pow 2", [](Value x) { return pow(x, 2.0); }, [](double x) { return x * x; }},
    {"pow -1.5", [](Value x) { return pow(x, -1.5); }, [](double x) { return std::pow(x, -1.5); }, Draw::near_one},
    {"clip", [](Value x) { return clip(x, -0.05, 0.0625); },
     [](double x) { return std::min(std::max(x, -0.05), 0.0625); }, Draw::away_from_zero},
    {"tanh", tanh, std::tanh},
    {"sigmoid", sigmoid, reference::sigmoid},
    {"gelu", gelu, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }},
    {"gelu_tanh", gelu_tanh, reference::gelu_tanh},
    {"silu", silu, [](double x) { return x * reference::sigmoid(x); }},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(x)); }},
};

std::function<Arrays(const Arrays&)> each(double (*f)(double), double factor) {
  return [=](const Arrays& in) {
    auto y = in[0];
    for (auto& element : y.data) element = f(factor * element);
    return Arrays{y};
  };
}

}  // namespace

std::vector<OpCase> math_cases() {
  std::vector<OpCase> cases;
  for (const auto& unary : kUnaries)
    for (const auto& shape : {Shape{kBatch, 7}, Shape{kBatch}, Shape{3, 1, 5}, Shape{}})
      // Functions of all numbers are tried over a wider range, too.
      for (const double factor : {1.0, 5.0}) {
        if (factor > 1.0 && unary.draw != Draw::uniform) continue;
        cases.push_back(forward_case(
            std::string(unary.name) + " " + to_string(shape) + (factor > 1.0 ? " wide" : ""), {{shape, unary.draw}},
            [op = unary.op, factor](const Values& x) {
              return Values{op(factor > 1.0 ? x[0].builder().apply_one(kScale, {x[0]}, {{"factor", factor}}) : x[0])};
            },
            each(unary.reference, factor)));
        cases.back().roundings *= factor;
      }
  return cases;
}

}  // namespace troupe::ops_test
