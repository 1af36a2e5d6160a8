#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

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

/// Compares the reference's gradient of some elements of input i with central differences of the reference itself.
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

void collect_ops(const Graph& graph, std::set<std::string_view>& ops) {
  for (const auto& node : graph.nodes()) ops.insert(node.op->name);
}

}  // namespace

TEST_CASE("every op computes what its reference does", "[ops]") {
  for (const auto& op_case : op_cases())
    for (const auto rows : op_case.rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      check_forward(op_case, rows);
    }
}

TEST_CASE("the gradient of every op is that of its reference", "[ops]") {
  for (const auto& op_case : op_cases()) {
    for (const auto rows : op_case.gradient_rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      check_gradient(op_case, rows);
    }
  }
}

TEST_CASE("the references' gradients are those of finite differences", "[ops]") {
  for (const auto& op_case : op_cases()) {
    if (!has_gradient(op_case) || !op_case.smooth || op_case.by_differences) continue;
    INFO(op_case.name);
    const auto inputs = draw_inputs(op_case, 2);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (op_case.inputs[i].differentiable) check_differences(op_case, inputs, i);
  }
}

TEST_CASE("every op that computes is part of some case", "[ops]") {
  std::set<std::string_view> covered;
  for (const auto& op_case : op_cases())
    collect_ops(has_gradient(op_case) ? case_gradient_graph(op_case) : case_graph(op_case), covered);
  for (const auto* op : built_in_ops()) {
    const bool computes = op->kind == OpKind::compute || op->kind == OpKind::pack || op->kind == OpKind::update;
    INFO(op->name);
    if (computes || op->kind == OpKind::view) CHECK(covered.count(op->name) == 1);
  }
}

TEST_CASE("the number of cases", "[ops]") {
  std::size_t values = 0, gradients = 0;
  for (const auto& op_case : op_cases()) {
    values += op_case.rows().size();
    gradients += op_case.gradient_rows().size();
  }
  std::printf("%zu op cases: %zu of values, %zu of gradients\n", op_cases().size(), values, gradients);
  CHECK(gradients > 1500);
}

TEST_CASE("no two cases have one name", "[ops]") {
  std::set<std::string> names;
  for (const auto& op_case : op_cases()) {
    INFO(op_case.name);
    CHECK(names.insert(op_case.name).second);
  }
}

}  // namespace troupe::ops_test
