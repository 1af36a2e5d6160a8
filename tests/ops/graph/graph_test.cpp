#include "troupe/ops/graph/graph.hpp"

#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/reshape.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node.name);
  return names;
}

}  // namespace

TEST_CASE("a graph lists its nodes after those they read", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  const auto w = builder.parameter("w", {3}, Initializer::constant(2.0));
  const auto y = mul(x, w);
  builder.output("y", relu(y));
  const auto graph = std::move(builder).build();
  CHECK(names_of(graph) == std::vector<std::string>{"x", "w", "mul", "relu"});
  CHECK(graph.info(graph.output("y")) == TensorInfo{Shape{kBatch, 3}, DType::float32});
  CHECK(graph.producer(graph.output("y")).is("relu"));
  CHECK(graph.producer(w.id()).trainable);
  CHECK(graph.readers()[y.id()] == std::vector<int>{3});
  CHECK(graph.readers()[graph.output("y")].empty());
}

TEST_CASE("sources are found by their kind", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  const auto v = builder.state("w/velocity", {2}, Initializer::zeros());
  const auto c = builder.constant(Tensor::scalar(1.0F));
  const auto& graph = builder.graph();
  CHECK(graph.sources("input") == std::vector<ValueId>{x.id()});
  CHECK(graph.sources("parameter") == std::vector<ValueId>{w.id(), v.id()});
  CHECK(graph.sources("constant") == std::vector<ValueId>{c.id()});
  CHECK_FALSE(graph.producer(v.id()).trainable);
}

TEST_CASE("a view leads to the value that owns the memory", "[graph]") {
  GraphBuilder builder;
  const auto x = scale(builder.input("x", {4, 6}), 2.0);
  const auto view = slice(reshape(x, {24}), 3, {2});
  const auto other = relu(view);
  CHECK(builder.graph().root_of(view.id()) == x.id());
  CHECK(builder.graph().root_of(x.id()) == x.id());
  CHECK(builder.graph().root_of(other.id()) == other.id());
}

TEST_CASE("scopes prefix the names of nodes and parameters, not of inputs and states", "[graph]") {
  GraphBuilder builder;
  {
    GraphBuilder::Scope outer(builder, "block1");
    GraphBuilder::Scope inner(builder, "dense1");
    const auto w = builder.parameter("weights", {2}, Initializer::zeros());
    builder.state("velocity", {2}, Initializer::zeros());
    relu(add(builder.input("x", {2}), w));
  }
  relu(builder.value(0));
  CHECK(names_of(builder.graph()) == std::vector<std::string>{"block1.dense1.weights", "velocity", "x",
                                                              "block1.dense1.add", "block1.dense1.relu", "relu"});
}

TEST_CASE("nodes of one op get numbers", "[graph]") {
  GraphBuilder builder;
  auto x = builder.input("x", {2});
  for (int i = 0; i < 3; ++i) x = relu(x);
  CHECK(names_of(builder.graph()) == std::vector<std::string>{"x", "relu", "relu_2", "relu_3"});
}

TEST_CASE("two sources or outputs of one name are refused", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  builder.output("y", x);
  CHECK(contains(error_of([&] { builder.input("x", {3}); }), "[graph] there are two values named 'x'"));
  CHECK(contains(error_of([&] { builder.parameter("x", {3}, Initializer::zeros()); }), "'x'"));
  CHECK(contains(error_of([&] { builder.output("y", x); }), "[graph] there are two outputs named 'y'"));
}

TEST_CASE("what a graph does not have is an error", "[graph]") {
  GraphBuilder builder, other;
  const auto x = builder.input("x", {2});
  CHECK(contains(error_of([&] { (void)builder.graph().output("loss"); }), "no output 'loss'"));
  CHECK_FALSE(builder.graph().has_output("loss"));
  CHECK(contains(error_of([&] { builder.apply_one("frobnicate", {x}); }), "[graph] there is no op 'frobnicate'"));
  CHECK(contains(error_of([&] { builder.apply_one("relu", {Value()}); }), "[relu] an input is no value"));
  CHECK(contains(error_of([&] { add(x, other.input("x", {2})); }), "[add] an input belongs to another graph"));
  CHECK(contains(error_of([&] { builder.parameter("w", {kBatch}, Initializer::zeros()); }), "size of the batch"));
}

TEST_CASE("a builder goes on where a graph ended", "[graph]") {
  GraphBuilder first;
  first.output("y", relu(first.input("x", {2})));
  const auto old = std::move(first).build();
  GraphBuilder second(old);
  const auto z = relu(second.value(old.output("y")));
  second.output("z", z);
  const auto graph = std::move(second).build();
  CHECK(graph.output("y") == old.output("y"));
  CHECK(names_of(graph) == std::vector<std::string>{"x", "relu", "relu_2"});
  CHECK(old.nodes().size() == 2);
}

TEST_CASE("every op is found by its name", "[graph]") {
  for (const auto* op : all_ops()) {
    CHECK(&find_op(op->name) == op);
    CHECK(op->infer != nullptr);
  }
}

}  // namespace troupe::ops_test
