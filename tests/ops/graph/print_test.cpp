#include "troupe/ops/graph/print.hpp"

#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/decimal_comma.hpp"
#include "troupe/tests/ops/support.hpp"
#include "troupe/tests/skip.hpp"

namespace troupe::ops_test {

namespace {

Graph example() {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  GraphBuilder::Scope scope(builder, "dense1");
  const auto w = builder.parameter("weights", {3, 2}, Initializer::zeros());
  builder.output("y", relu(matmul(x, w)));
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("a graph prints a line for every node and output", "[print]") {
  CHECK(to_text(example()) ==
        "%0 x: float32[B, 3] = input()\n"
        "%1 dense1.weights: float32[3, 2] = parameter()\n"
        "%2 dense1.matmul: float32[B, 2] = matmul(%0, %1) transpose_a=false transpose_b=false relu=false\n"
        "%3 dense1.relu: float32[B, 2] = relu(%2)\n"
        "y = %3\n");
}

TEST_CASE("all outputs of a node are printed", "[print]") {
  GraphBuilder builder;
  max_pool(builder.input("x", {kBatch, 4, 4, 1}));
  CHECK(contains(to_text(builder.graph()), "%1, %2 max_pool: float32[B, 2, 2, 1], uint8[B, 2, 2, 1] = max_pool(%0)"));
}

TEST_CASE("texts of graphs and data sets are the same in a locale with a decimal comma", "[print]") {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {kBatch, 1'000}), 2.5));
  const auto data = Dataset::of_rows(60'000);
  const auto texts = [&] { return to_text(builder.graph()) + to_dot(builder.graph()) + data.content(); };
  const auto expected = texts();
  CHECK(contains(expected, "factor=2.5"));
  CHECK(contains(expected, "60000 rows"));
  const testing::DecimalComma locale;
  if (!locale.is_set()) return testing::skip("the system has no locale with a decimal comma");
  CHECK(texts() == expected);
}

TEST_CASE("a graph prints for Graphviz", "[print]") {
  const auto dot = to_dot(example());
  CHECK(dot.starts_with("digraph"));
  CHECK(dot.ends_with("}\n"));
  CHECK(contains(dot, "n0 [label=\"x\\ninput\", style=rounded];"));
  CHECK(contains(dot, "n0 -> n2 [label=\"float32[B, 3]\"];"));
  CHECK(contains(dot, "n1 -> n2 [label=\"float32[3, 2]\"];"));
  CHECK(contains(dot, "n2 -> n3"));
  CHECK(contains(dot, "n3 -> o0;"));
}

}  // namespace troupe::ops_test
