#include "troupe/ops/passes/passes.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/graph/run_graph.hpp"

namespace troupe::ops_test {

namespace {

using BuildValue = Value (*)(GraphBuilder&);

Graph graph_of(BuildValue build) {
  GraphBuilder builder;
  builder.output("y", build(builder));
  return std::move(builder).build();
}

/// For 3 rows, the output `y` and the gradients of the sum of its squares with respect to all inputs.
std::vector<Tensor> results_of(const Graph& graph) {
  GraphBuilder builder(graph);
  const auto y = builder.value(graph.output("y"));
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < y.shape().rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  std::vector<Value> inputs;
  for (auto id : graph.sources(kInput)) inputs.push_back(builder.value(id));
  const auto dxs = gradients(reduce_sum(mul(y, y), axes), inputs);
  for (std::size_t i = 0; i < dxs.size(); ++i) builder.output("d" + std::to_string(i), dxs[i]);
  const auto with_gradients = std::move(builder).build();
  Program program(with_gradients, 3);
  int number = 0;
  for (auto id : with_gradients.sources(kInput)) {
    Array array(with_gradients.info(id).shape.with_rows(3).list());
    // The numbers have both signs, and many of them are equal.
    for (auto& element : array.data) element = ((number += 7) % 23 - 11) / 8.0;
    program.bind(with_gradients.producer(id).name, to_tensor(array, DType::float32));
  }
  program.run();
  std::vector<Tensor> results;
  for (const auto& named : with_gradients.outputs()) results.push_back(program.output(named.name).clone());
  return results;
}

bool close(const Tensor& a, const Tensor& b) {
  return distance(to_array(a), to_array(b)) < 1e-5;
}

/// Checks that the graph after a pass has the expected ops, and the same results and gradients by `same`.
void check_pass(Graph (*pass)(const Graph&), BuildValue build, const Ops& expected,
                bool (*same)(const Tensor&, const Tensor&)) {
  const auto before = graph_of(build);
  const auto after = pass(before);
  CHECK(ops_of(after) == expected);
  CHECK(std::ranges::equal(results_of(after), results_of(before), same));
}

Value dense(GraphBuilder& builder) {
  const auto x = builder.input("x", {kBatch, 5});
  const auto w = builder.input("w", {5, 4});
  return relu(add(matmul(x, w), builder.input("b", {4})));
}

Value conv(GraphBuilder& builder) {
  return conv2d(builder.input("x", {kBatch, 6, 5, 2}), builder.input("w", {3, 3, 2, 4}));
}

}  // namespace

TEST_CASE("bias and relu become part of a product", "[passes]") {
  CHECK(to_text(fuse_bias_and_activation(graph_of(dense))) ==
        "%0 x: float32[B, 5] = input()\n"
        "%1 w: float32[5, 4] = input()\n"
        "%2 b: float32[4] = input()\n"
        "%3 matmul: float32[B, 4] = matmul(%0, %1, %2) transpose_a=false transpose_b=false relu=true\n"
        "y = %3\n");
  check_pass(fuse_bias_and_activation, dense, {"matmul"}, close);
}

TEST_CASE("bias and relu become part of a convolution, each alone too", "[passes]") {
  const auto both = [](GraphBuilder& b) { return relu(add(conv(b), b.input("b", {4}))); };
  check_pass(fuse_bias_and_activation, both, {"conv2d"}, close);
  const auto bias = [](GraphBuilder& b) { return add(conv(b), b.input("b", {4})); };
  check_pass(fuse_bias_and_activation, bias, {"conv2d"}, close);
  const auto activation = [](GraphBuilder& b) { return relu(conv(b)); };
  check_pass(fuse_bias_and_activation, activation, {"conv2d"}, close);
}

TEST_CASE("a product with another reader is not fused", "[passes]") {
  const auto shared = [](GraphBuilder& b) {
    const auto product = matmul(b.input("x", {kBatch, 5}), b.input("w", {5, 4}));
    return add(relu(product), product);
  };
  check_pass(fuse_bias_and_activation, shared, {"matmul", "relu", "add"}, same_bits);
  const auto sum_shared = [](GraphBuilder& b) {
    const auto sum = add(matmul(b.input("x", {kBatch, 5}), b.input("w", {5, 4})), b.input("b", {4}));
    return mul(relu(sum), sum);
  };
  check_pass(fuse_bias_and_activation, sum_shared, {"matmul", "relu", "mul"}, close);
}

TEST_CASE("a product that is an output of the graph is not fused", "[passes]") {
  GraphBuilder builder;
  const auto product = matmul(builder.input("x", {kBatch, 5}), builder.input("w", {5, 4}));
  builder.output("product", product);
  builder.output("y", relu(product));
  CHECK(ops_of(fuse_bias_and_activation(std::move(builder).build())) == Ops{"matmul", "relu"});
}

TEST_CASE("a sum that is not a bias is not fused", "[passes]") {
  const auto residual = [](GraphBuilder& b) {
    return relu(add(matmul(b.input("x", {kBatch, 5}), b.input("w", {5, 4})), b.input("r", {kBatch, 4})));
  };
  check_pass(fuse_bias_and_activation, residual, {"matmul", "add", "relu"}, same_bits);
  const auto scalar = [](GraphBuilder& b) {
    return add(matmul(b.input("x", {kBatch, 5}), b.input("w", {5, 4})), b.input("s", {1}));
  };
  check_pass(fuse_bias_and_activation, scalar, {"matmul", "add"}, same_bits);
  const auto second_bias = [](GraphBuilder& b) {
    const auto y = linear(b.input("x", {kBatch, 5}), b.input("w", {5, 4}), b.input("b", {4}));
    return relu(add(y, b.input("c", {4})));
  };
  check_pass(fuse_bias_and_activation, second_bias, {"matmul", "add", "relu"}, same_bits);
}

TEST_CASE("a fused product comes after a bias that is computed late", "[passes]") {
  const auto late = [](GraphBuilder& b) {
    const auto product = matmul(b.input("x", {kBatch, 5}), b.input("w", {5, 4}));
    return relu(add(product, scale(b.input("b", {4}), 2.0)));
  };
  check_pass(fuse_bias_and_activation, late, {"scale", "matmul"}, close);
}

TEST_CASE("a relu before a pooling becomes part of it", "[passes]") {
  const auto disjoint = [](GraphBuilder& b) { return max_pool(relu(conv(b))); };
  check_pass(fuse_pool_and_relu, disjoint, {"conv2d", "max_pool"}, same_bits);
  const auto overlapping = [](GraphBuilder& b) {
    return max_pool(relu(b.input("x", {kBatch, 7, 5, 3})), {.kernel_size = 3, .stride = 1, .padding = 1});
  };
  check_pass(fuse_pool_and_relu, overlapping, {"max_pool"}, same_bits);
  const auto chain = [](GraphBuilder& b) { return max_pool(relu(max_pool(relu(b.input("x", {kBatch, 8, 8, 2}))))); };
  check_pass(fuse_pool_and_relu, chain, {"max_pool", "max_pool"}, same_bits);
}

TEST_CASE("a relu with another reader stays before the pooling", "[passes]") {
  const auto shared = [](GraphBuilder& b) {
    const auto y = relu(b.input("x", {kBatch, 4, 4, 1}));
    return add(flatten(max_pool(y)), reduce_sum(y, std::vector<std::int64_t>{1, 2}));
  };
  const auto before = graph_of(shared);
  CHECK(ops_of(fuse_pool_and_relu(before)) == ops_of(before));
}

TEST_CASE("dead code is removed, inputs and updates stay", "[passes]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 2});
  builder.input("unread", {3});
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  builder.parameter("dead", {2}, Initializer::zeros());
  relu(scale(x, 2.0));
  builder.output("y", mul(x, w));
  const std::vector gradient{scale(builder.input("dw", {2}), 1.0)};
  Optimizer(Sgd{}).apply(std::vector{w}, gradient, builder.input("info", {4}, DType::int64));
  const auto graph = eliminate_dead_code(std::move(builder).build());
  CHECK(ops_of(graph) == Ops{"mul", "scale", "learning_rate", "sgd_update"});
  CHECK(graph.sources(kInput).size() == 4);
  CHECK(graph.sources(kParameter).size() == 1);
  CHECK(graph.has_output("y"));
}

TEST_CASE("a forward graph goes through all passes", "[passes]") {
  const auto model = [](GraphBuilder& b) {
    const auto image = max_pool(relu(add(conv(b), b.input("b", {4}))));
    relu(image);
    return relu(linear(flatten(image), b.input("w2", {8, 3}), b.input("b2", {3})));
  };
  check_pass(optimize_forward, model, {"conv2d", "max_pool", "reshape", "matmul"}, close);
}

}  // namespace troupe::ops_test
