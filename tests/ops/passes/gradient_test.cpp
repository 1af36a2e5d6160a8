#include "troupe/ops/passes/gradient.hpp"

#include <limits>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

using Axes = std::vector<std::int64_t>;

/// Runs a graph whose only input is x.
std::vector<double> run(const Graph& graph, const std::vector<float>& x, const std::string& output) {
  Program program(graph, static_cast<std::int64_t>(x.size()));
  program.bind("x", Tensor::from<float>({static_cast<std::int64_t>(x.size())}, x));
  program.run();
  return to_array(program.output(output)).data;
}

/// The derivative of the scalar that f builds of a vector x.
std::vector<double> derivative(Value (*f)(Value), const std::vector<float>& x) {
  GraphBuilder builder;
  const auto input = builder.input("x", {static_cast<std::int64_t>(x.size())});
  builder.output("dx", gradients(f(input), std::vector{input})[0]);
  return run(std::move(builder).build(), x, "dx");
}

Value sum(Value x) {
  return reduce_sum(x, Axes{0});
}

}  // namespace

TEST_CASE("a value that is read several times collects its gradients", "[gradient]") {
  // f is the sum of x^3 + 2 x.
  const auto f = [](Value x) { return sum(add(mul(mul(x, x), x), scale(x, 2.0))); };
  CHECK(derivative(f, {2.0F, -1.0F}) == std::vector<double>{14.0, 5.0});
}

TEST_CASE("the gradient of a value by itself is 1", "[gradient]") {
  CHECK(derivative([](Value x) { return reshape(x, {}); }, {5.0F}) == std::vector<double>{1.0});
}

TEST_CASE("a value that the result does not depend on gets zeros", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch});
  const auto unread = builder.parameter("w", {2, 2}, Initializer::zeros());
  const auto read_elsewhere = scale(x, 2.0);
  const auto dxs = gradients(sum(relu(x)), std::vector{unread, read_elsewhere, x});
  builder.output("dw", dxs[0]);
  builder.output("dz", dxs[1]);
  builder.output("dx", dxs[2]);
  const auto graph = std::move(builder).build();
  CHECK(run(graph, {1.0F, -1.0F, 3.0F}, "dw") == std::vector<double>(4, 0.0));
  CHECK(run(graph, {1.0F, -1.0F, 3.0F}, "dz") == std::vector<double>(3, 0.0));
  CHECK(run(graph, {1.0F, -1.0F, 3.0F}, "dx") == std::vector<double>{1.0, 0.0, 1.0});
}

TEST_CASE("gradients may be taken with respect to an intermediate value and the values it depends on", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  const auto y = scale(x, 3.0);
  const auto dxs = gradients(sum(mul(y, y)), std::vector{y, x});
  builder.output("dy", dxs[0]);
  builder.output("dx", dxs[1]);
  const auto graph = std::move(builder).build();
  CHECK(run(graph, {1.0F, 2.0F}, "dy") == std::vector<double>{6.0, 12.0});
  CHECK(run(graph, {1.0F, 2.0F}, "dx") == std::vector<double>{18.0, 36.0});
}

TEST_CASE("an op that is part of a backward pass has no gradient", "[gradient]") {
  const auto second = [](Value x) {
    const auto y = sum(relu(mul(x, x)));
    return sum(gradients(y, std::vector{x})[0]);
  };
  CHECK(contains(error_of([&] { derivative(second, {2.0F, -1.0F}); }), "op 'grad.relu_grad' has no gradient"));
}

TEST_CASE("an integer result has no gradient", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  const auto labels = builder.input("labels", {kBatch}, DType::int32);
  CHECK(contains(error_of([&] { gradients(count_correct(x, labels), std::vector{x}); }), "[gradient] needs a float32"));
}

TEST_CASE("only a float32 scalar has a gradient", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  CHECK(contains(error_of([&] { gradients(x, std::vector{x}); }), "float32[B, 3]"));
}

TEST_CASE("an op without a gradient between y and x is named", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {4});
  const auto y = sum(view_at(x, 1, {2}));
  CHECK(contains(error_of([&] { gradients(y, std::vector{x}); }), "[gradient] op 'view_at' has no gradient"));
}

TEST_CASE("a loss and its log probabilities add up their gradients", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {1, 3});
  const auto label = builder.constant(Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{1}));
  const auto [loss, log_probabilities] = softmax_cross_entropy(x, label);
  const auto both = add(reduce_sum(log_probabilities, Axes{0, 1}), reduce_sum(loss, Axes{0}));
  builder.output("dx", gradients(both, std::vector{x})[0]);
  Program program(std::move(builder).build(), 0);
  program.bind("x", Tensor({1, 3}, DType::float32));
  program.run();
  // The loss contributes p - 1 at the label and p elsewhere. The sum of all log probabilities contributes 1 - 3 p,
  // which is 0 here.
  const auto dx = program.output("dx").data<float>();
  CHECK(dx[0] == Approx(1.0 / 3.0));
  CHECK(dx[1] == Approx(-2.0 / 3.0));
  CHECK(dx[2] == Approx(1.0 / 3.0));
}

TEST_CASE("a gradient waits for check_finite", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  const auto checked = check_finite(sum(x));
  builder.output("dx", gradients(checked, std::vector{x})[0]);
  const auto graph = std::move(builder).build();
  CHECK(run(graph, {1.0F, 2.0F}, "dx") == std::vector<double>{1.0, 1.0});
  const auto infinity = std::numeric_limits<float>::infinity();
  CHECK(contains(error_of([&] { run(graph, {1.0F, infinity}, "dx"); }), "[check_finite]"));
}

TEST_CASE("the training graph has a gradient for every trained parameter", "[gradient]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  const auto w = builder.parameter("w", {3, 2}, Initializer::zeros());
  const auto bias = builder.parameter("bias", {2}, Initializer::zeros());
  builder.state("velocity", {3, 2}, Initializer::zeros());
  builder.output("loss", reduce_sum(linear(x, w, bias), Axes{0, 1}));
  const auto graph = gradient(std::move(builder).build(), "loss");
  REQUIRE(graph.outputs().size() == 3);
  CHECK(graph.info(graph.output("gradient/w")).shape == Shape{3, 2});
  CHECK(graph.info(graph.output("gradient/bias")).shape == Shape{2});
}

}  // namespace troupe::ops_test
