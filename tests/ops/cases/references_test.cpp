#include <algorithm>
#include <cmath>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/check_case.hpp"

namespace troupe::ops_test {

namespace {

double loss_of(const OpCase& op_case, const Arrays& inputs, const Array& dy) {
  const auto y = op_case.reference.forward(inputs)[0];
  double loss = 0.0;
  for (std::size_t i = 0; i < y.data.size(); ++i) loss += y.data[i] * dy.data[i];
  return loss;
}

/// Compares the gradient of the reference at some elements of input i with central differences of the reference.
void check_differences(const OpCase& op_case, Arrays inputs, std::size_t i) {
  constexpr double kStep = 1e-4;
  constexpr std::size_t kProbes = 12;
  const auto dy = draw_weights(op_case.reference.forward(inputs)[0].sizes);
  const auto dx = op_case.reference.backward(inputs, dy)[i];
  const auto stride = std::max<std::size_t>(1, dx.data.size() / kProbes);
  for (std::size_t at = 0; at < dx.data.size(); at += stride) {
    auto& element = inputs[i].data[at];
    const auto saved = element;
    element = saved + kStep;
    const auto above = loss_of(op_case, inputs, dy);
    element = saved - kStep;
    const auto below = loss_of(op_case, inputs, dy);
    element = saved;
    INFO("input " << i << " element " << at);
    CHECK(std::abs((above - below) / (2.0 * kStep) - dx.data[at]) <= 1e-6 * std::max(1.0, std::abs(dx.data[at])));
  }
}

}  // namespace

TEST_CASE("the references' gradients are those of finite differences", "[ops]") {
  for (const auto& op_case : op_cases()) {
    if (!has_gradient(op_case) || !op_case.smooth || op_case.by_differences) continue;
    INFO(op_case.name);
    const auto inputs = draw_inputs(op_case, 2);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (op_case.inputs[i].differentiable) check_differences(op_case, inputs, i);
  }
}

}  // namespace troupe::ops_test
