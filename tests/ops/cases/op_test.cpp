#include <cstdio>
#include <set>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/check_case.hpp"

namespace troupe::ops_test {

namespace {

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
