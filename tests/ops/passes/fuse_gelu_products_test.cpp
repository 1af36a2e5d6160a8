#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/ops/graph/check_pass.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/with_precision.hpp"

namespace troupe::ops_test {

namespace {

/// The input x of a gelu, from a product, and the gradient dy of its result, from the product of the next layer.
struct GeluProducts {
  Value x, dy;

  explicit GeluProducts(GraphBuilder& b)
      : x(linear(b.input("data", {kBatch, 4}), b.input("w", {4, 8}), b.input("bias", {8}))),
        dy(matmul(b.input("dz", {kBatch, 3}), b.parameter("w2", {8, 3}, Initializer::uniform(1.0)),
                  {.transpose_b = true})) {}

  void outputs(GraphBuilder& b) const {
    b.output("y", gelu_tanh(x));
    b.output("dx", b.apply_one(kGeluTanhGrad, {dy, x}));
  }
};

void gelu_products(GraphBuilder& b) {
  const GeluProducts products(b);
  const auto dx = b.apply_one(kGeluTanhGrad, {products.dy, products.x});
  b.output("y", gelu_tanh(products.x));
  b.output("dx", mul(dx, b.input("row", {8})));
  b.output("db", reduce_sum(dx, Axes{0}));
  b.output("db again", reduce_sum(dx, Axes{0}));
}

}  // namespace

TEST_CASE("a gelu and its gradient are fused with the products before them", "[passes][test device]") {
  const Ops expected{"matmul_gelu_tanh", "matmul_gelu_tanh_grad", "mul"};
  check_pass(fuse_gelu_products, gelu_products, expected);
  check_pass(fuse_gelu_products, gelu_products, expected, testing::test_device());
  const auto forward = [](GraphBuilder& b) {
    b.output("y", gelu_tanh(linear(b.input("x", {kBatch, 4}), b.input("w", {4, 8}), b.input("bias", {8}))));
  };
  check_pass(fuse_gelu_products, forward, {"matmul_gelu_tanh"});
  CHECK(fuse_gelu_products(graph_of(forward)).nodes().back().outputs.size() == 1);
  const auto no_sum = [](GraphBuilder& b) { GeluProducts(b).outputs(b); };
  check_pass(fuse_gelu_products, no_sum, {"matmul_gelu_tanh", "matmul_gelu_tanh_grad"});
}

TEST_CASE("a product with another reader, or an update before the gradient of the gelu, is not fused", "[passes]") {
  const auto read_twice = [](GraphBuilder& b) {
    const GeluProducts products(b);
    products.outputs(b);
    b.output("dy", products.dy);
  };
  check_pass(fuse_gelu_products, read_twice, {"matmul_gelu_tanh", "matmul", "gelu_tanh_grad"});
  const auto update_between = [](GraphBuilder& b) {
    const GeluProducts products(b);
    const std::vector parameters{b.value(b.graph().sources(kParameter).at(0))};
    Optimizer(Sgd{.lr = 0.1}).apply(parameters, std::vector{b.input("dw2", {8, 3})}, b.batch_info());
    products.outputs(b);
  };
  check_pass(fuse_gelu_products, update_between,
             {"matmul_gelu_tanh", "matmul", "learning_rate", "sgd_update", "gelu_tanh_grad"});
}

TEST_CASE("a gelu of another value than a product, and its gradient, are not fused", "[passes]") {
  const auto after_relu = [](GraphBuilder& b) {
    const auto x = b.input("x", {kBatch, 8});
    b.output("y", gelu_tanh(relu(matmul(x, b.input("w", {8, 8})))));
    b.output("two", gelu_tanh(matmul(x, b.input("w3", {8, 3})) * 2.0));
  };
  check_pass(fuse_gelu_products, after_relu, {"matmul", "relu", "gelu_tanh", "matmul", "scale", "gelu_tanh"});
  const auto of_input = [](GraphBuilder& b) {
    const auto dy = matmul(b.input("dz", {kBatch, 3}), b.input("w2", {8, 3}), {.transpose_b = true});
    b.output("dx", b.apply_one(kGeluTanhGrad, {dy, b.input("x", {kBatch, 8})}));
  };
  check_pass(fuse_gelu_products, of_input, {"matmul", "gelu_tanh_grad"});
}

TEST_CASE("a product is fused with one of two gelus that read it, and with a gelu rather than a gradient", "[passes]") {
  const auto two = [](GraphBuilder& b) {
    const GeluProducts products(b);
    b.output("one", gelu_tanh(products.x));
    b.output("two", scale(gelu_tanh(products.x), 2.0));
    b.output("dx", b.apply_one(kGeluTanhGrad, {products.dy, products.x}));
  };
  check_pass(fuse_gelu_products, two, {"matmul_gelu_tanh", "gelu_tanh", "scale", "matmul_gelu_tanh_grad"});
  const auto both = [](GraphBuilder& b) {
    const GeluProducts products(b);
    products.outputs(b);
    b.output("again", gelu_tanh(products.dy));
  };
  check_pass(fuse_gelu_products, both, {"matmul_gelu_tanh", "matmul_gelu_tanh", "gelu_tanh_grad"});
}

TEST_CASE("a training step fuses gelus with products that are rounded to TF32 or 16 bits", "[passes]") {
  const auto step = [](GraphBuilder& b) {
    const auto x = b.input("x", {kBatch, 2, 4});
    const std::vector parameters{b.parameter("w1", {4, 8}, Initializer::uniform(1.0)),
                                 b.parameter("b1", {8}, Initializer::uniform(1.0)),
                                 b.parameter("w2", {8, 2}, Initializer::uniform(1.0))};
    const auto y = matmul(gelu_tanh(linear(x, parameters[0], parameters[1])), parameters[2]);
    const auto loss = reduce_sum(tanh(y), Axes{0, 1, 2});
    b.output("loss", loss);
    Optimizer(Sgd{.lr = 0.1}).apply(parameters, gradients(loss, parameters), b.batch_info());
  };
  const auto graph = eliminate_dead_code(graph_of(step));
  const auto fused = [&](DType compute) {
    const auto ops = ops_of(optimize_for_device(graph, compute));
    return std::ranges::count(ops, "matmul_gelu_tanh") + std::ranges::count(ops, "matmul_gelu_tanh_grad");
  };
  CHECK(fused(DType::float32) == 0);
  CHECK(fused(DType::bfloat16) == 2);
  const testing::WithPrecision tf32(MatmulPrecision::tf32);
  CHECK(fused(DType::float32) == 2);
  check_pass([](const Graph& whole) { return optimize_for_device(eliminate_dead_code(whole)); }, step,
             {"matmul_gelu_tanh", "matmul", "tanh", "reduce_sum", "reshape", "broadcast_to", "tanh_grad", "outer_sum",
              "matmul_gelu_tanh_grad", "outer_sum", "learning_rate", "sgd_updates"});
}

}  // namespace troupe::ops_test
