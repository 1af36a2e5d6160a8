#include "troupe/ops/core/exact_convolutions.hpp"

#include <algorithm>

#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"

namespace troupe::ops_test {

namespace {

OpCase convolution(bool direct) {
  const Conv2dOptions options{.padding = 1, .direct = direct};
  return {"convolution",
          {{{kBatch, 8, 8, 16}, Draw::uniform}, {{3, 3, 16, 16}, Draw::uniform}},
          [options](const Values& x) { return Values{conv2d(x[0], x[1], options)}; },
          reference::conv2d(1, 1, false)};
}

std::ptrdiff_t direct_nodes(const Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.attributes.has("direct"); });
}

}  // namespace

TEST_CASE("the gradients of a direct convolution are direct") {
  CHECK(direct_nodes(case_gradient_graph(convolution(false))) == 0);
  CHECK(direct_nodes(case_gradient_graph(convolution(true))) == 3);
}

TEST_CASE("all convolutions of a forward graph are direct if the program says so") {
  const auto graph = case_graph(convolution(false));
  CHECK(direct_nodes(optimize_forward(graph)) == 0);
  set_exact_convolutions(true);
  const auto exact = optimize_forward(graph);
  set_exact_convolutions(false);
  CHECK(direct_nodes(exact) == 1);
}

}  // namespace troupe::ops_test
