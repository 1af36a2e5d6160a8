#include <algorithm>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/fused/fused_elementwise.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/graph/check_pass.hpp"
#include "troupe/tests/test_device/test_device.hpp"

namespace troupe::ops_test {

namespace {

/// The backward pass of a relu and the bias before it: dx, and sums of dx over all axes but the last.
void relu_layer(GraphBuilder& b) {
  const auto dx = b.apply_one(kReluGrad, {b.input("dy", {kBatch, 2, 5}), b.input("y", {kBatch, 2, 5})});
  b.output("dx", mul(dx, b.input("w", {5})));
  b.output("db", reduce_sum(dx, Axes{0, 1}));
  b.output("db again", reduce_sum(dx, Axes{1, 0}));
}

/// The result y of a product with a bias and a relu, and the gradient dy of y, from the product of the next layer.
struct ReluProducts {
  Value y, dy;

  explicit ReluProducts(GraphBuilder& b, bool transpose = false)
      : y(b.apply_one(
            kMatmul,
            {b.input("x", transpose ? Shape{4, 6} : Shape{kBatch, 4}), b.input("w", {4, 5}), b.input("bias", {5})},
            {{"transpose_a", transpose}, {"transpose_b", false}, {"relu", true}})),
        dy(matmul(b.input("dz", {y.shape()[0], 3}), b.parameter("w2", {5, 3}, Initializer::uniform(1.0)),
                  {.transpose_b = true})) {}

  void outputs(GraphBuilder& b) const {
    const auto dx = b.apply_one(kReluGrad, {dy, y});
    b.output("y", y);
    b.output("dx", dx);
    b.output("db", reduce_sum(dx, Axes{0}));
  }
};

void relu_products(GraphBuilder& b) {
  ReluProducts(b).outputs(b);
}

/// A classifier, the sum of its losses and the gradient of its weights.
void classifier(GraphBuilder& b) {
  const auto weights = b.parameter("w", {4, 3}, Initializer::uniform(1.0));
  const auto logits = matmul(b.input("x", {kBatch, 4}), weights);
  const auto loss = softmax_cross_entropy(logits, b.input("labels", {kBatch}, DType::int32), {.smoothing = 0.1}).loss;
  const auto sum = reduce_sum(loss, Axes{0});
  b.output("sum", sum);
  b.output("dw", gradients(sum, std::vector{weights})[0]);
}

/// A classifier, the mean of its losses over the batch and the gradient of its weights.
void mean_of_classifier(GraphBuilder& b) {
  const auto weights = b.parameter("w", {4, 3}, Initializer::uniform(1.0));
  const auto logits = matmul(b.input("x", {kBatch, 4}), weights);
  const auto loss = softmax_cross_entropy(logits, b.input("labels", {kBatch}, DType::int32)).loss;
  const auto mean = batch_mean(loss, b.batch_info());
  b.output("mean", mean);
  b.output("dw", gradients(mean, std::vector{weights})[0]);
}

/// A formula in which x + 1 has two readers, and all other values one.
void tree(GraphBuilder& b) {
  const auto x = b.input("x", {kBatch, 6}), y = b.input("y", {kBatch, 6});
  const auto shifted = x + 1.0;
  b.output("z", gelu(shifted * b.input("row", {6})) - clip(shifted, -0.5, 0.5) * abs(scale(y, -3.0)));
}

/// All ops of formulas, one after the other.
void all_ops(GraphBuilder& b) {
  const auto x = b.input("x", {kBatch, 6}), y = b.input("y", {kBatch, 6});
  const auto gradient = [&](const OpDef& op, Value dy) { return b.apply_one(op, {dy, y}); };
  const auto positive = abs(x) + 0.5;
  auto z = rsqrt(sqrt(log(exp(positive)))) / positive - relu(x) * scale(y, 0.3);
  for (const auto* op : {&kReluGrad, &kAbsGrad, &kTanhGrad, &kSigmoidGrad, &kGeluGrad, &kGeluTanhGrad, &kSiluGrad})
    z = z + gradient(*op, z);
  z = softplus(silu(gelu_tanh(gelu(sigmoid(tanh(z)))))) + at_least(z, 0.1);
  b.output("z", b.apply_one(kClipGrad, {pow(pow(clip(z, 0.1, 0.9), 2.0), 1.3), y}, {{"least", -0.5}, {"most", 0.5}}));
}

}  // namespace

TEST_CASE("the gradients of a relu and of the bias before it become one op", "[passes]") {
  check_pass(fuse_backward_epilogues, relu_layer, {"relu_grad_bias", "mul"});
}

TEST_CASE("a relu's gradient with other sums stays", "[passes]") {
  const auto others = [](GraphBuilder& b) {
    const auto dx = b.apply_one(kReluGrad, {b.input("dy", {kBatch, 2, 5}), b.input("y", {kBatch, 2, 5})});
    b.output("columns", reduce_sum(dx, Axes{0}));
    b.output("rows", reduce_sum(dx, Axes{1, 2}));
    b.output("vector", reduce_sum(b.apply_one(kReluGrad, {b.input("v", {kBatch}), b.input("u", {kBatch})}), Axes{}));
  };
  check_pass(fuse_backward_epilogues, others, {"relu_grad", "reduce_sum", "reduce_sum", "relu_grad", "reduce_sum"});
}

TEST_CASE("the gradient of a relu is fused with the product before it", "[passes]") {
  check_pass(fuse_relu_products, relu_products, {"matmul", "matmul_relu_grad", "reduce_sum"});
  // The product with the relu may have any form.
  const auto transposed = [](GraphBuilder& b) { ReluProducts(b, true).outputs(b); };
  check_pass(fuse_relu_products, transposed, {"matmul", "matmul_relu_grad", "reduce_sum"});
}

TEST_CASE("a product with another reader, or an update before the gradient of the relu, is not fused", "[passes]") {
  const auto read_twice = [](GraphBuilder& b) {
    const ReluProducts products(b);
    products.outputs(b);
    b.output("sum", reduce_sum(products.dy, Axes{0, 1}));
  };
  check_pass(fuse_relu_products, read_twice, {"matmul", "matmul", "relu_grad", "reduce_sum", "reduce_sum"});
  const auto update_between = [](GraphBuilder& b) {
    const ReluProducts products(b);
    const std::vector parameters{b.value(b.graph().sources(kParameter).at(0))};
    Optimizer(Sgd{.lr = 0.1}).apply(parameters, std::vector{b.input("dw2", {5, 3})}, b.batch_info());
    products.outputs(b);
  };
  check_pass(fuse_relu_products, update_between,
             {"matmul", "matmul", "learning_rate", "sgd_update", "relu_grad", "reduce_sum"});
}

TEST_CASE("products of other forms stay apart from a relu's gradient", "[passes]") {
  const auto transposed = [](GraphBuilder& b) {
    ReluProducts products(b, true);
    const auto w2 = b.value(b.graph().sources(kParameter).at(0));
    products.dy = matmul(b.input("transposed dz", {3, 6}), w2, {.transpose_a = true, .transpose_b = true});
    products.outputs(b);
  };
  check_pass([](const Graph& graph) { return fuse_relu_products(eliminate_dead_code(graph)); }, transposed,
             {"matmul", "matmul", "relu_grad", "reduce_sum"});
}

TEST_CASE("the gradient of a cross-entropy need not wait for the loss", "[passes]") {
  check_pass(cross_entropy_of_logits, classifier,
             {"matmul", "softmax_cross_entropy", "reduce_sum", "reshape", "broadcast_to",
              "softmax_cross_entropy_logits_grad", "matmul", "matmul"});
  check_pass([](const Graph& graph) { return cross_entropy_of_logits(eliminate_dead_code(graph)); }, mean_of_classifier,
             {"matmul", "softmax_cross_entropy", "batch_mean", "softmax_cross_entropy_logits_grad", "matmul"});
  const auto many_classes = [](GraphBuilder& b) {
    const auto logits = b.parameter("x", {4, 1025}, Initializer::uniform(1.0));
    const auto loss = reduce_sum(softmax_cross_entropy(logits, b.input("labels", {4}, DType::int32)).loss, Axes{0});
    b.output("dx", gradients(loss, std::vector{logits})[0]);
  };
  CHECK(ops_of(cross_entropy_of_logits(graph_of(many_classes))) == ops_of(graph_of(many_classes)));
  // The gradient belongs to the logits before their update.
  const auto update_between = [](GraphBuilder& b) {
    const auto logits = b.parameter("x", {4, 3}, Initializer::uniform(1.0));
    const auto loss = reduce_sum(softmax_cross_entropy(logits, b.input("labels", {4}, DType::int32)).loss, Axes{0});
    Optimizer(Sgd{.lr = 0.5}).apply(std::vector{logits}, std::vector{b.input("dx", {4, 3})}, b.batch_info());
    b.output("z", gradients(loss, std::vector{logits})[0]);
  };
  check_pass(cross_entropy_of_logits, update_between, ops_of(graph_of(update_between)));
}

TEST_CASE("element-wise ops become one if nothing else reads the values between them", "[passes]") {
  check_pass(fuse_elementwise, tree, {"fused_elementwise"});
  const auto read_twice = [](GraphBuilder& b) {
    const auto x = b.input("x", {kBatch, 6}), y = exp(scale(x, 2.0));
    b.output("sum", reduce_sum(y, Axes{1}));
    b.output("z", relu(y + x));
  };
  check_pass(fuse_elementwise, read_twice, {"fused_elementwise", "reduce_sum", "fused_elementwise"});
  const auto output_between = [](GraphBuilder& b) {
    const auto y = exp(b.input("x", {kBatch, 6}));
    b.output("y", y);
    b.output("z", scale(y, 0.5));
  };
  check_pass(fuse_elementwise, output_between, {"exp", "scale"});
}

TEST_CASE("element-wise ops of other shapes stay apart", "[passes]") {
  const auto row = [](GraphBuilder& b) {
    const auto scaled = scale(exp(b.input("row", {6})), 0.1);
    b.output("z", relu(b.input("x", {kBatch, 6}) * scaled));
  };
  check_pass(fuse_elementwise, row, {"fused_elementwise", "fused_elementwise"});
  const auto column = [](GraphBuilder& b) {
    b.output("z", exp(b.input("x", {kBatch, 6}) * b.input("column", {kBatch, 1})));
  };
  check_pass(fuse_elementwise, column, {"mul", "exp"});
}

TEST_CASE("a formula has no more steps and inputs than it may", "[passes]") {
  const auto long_chain = [](GraphBuilder& b) {
    auto x = b.input("x", {kBatch, 6});
    for (std::size_t i = 0; i < 2 * Formula::kMostSteps + 1; ++i) x = scale(x, 1.1);
    b.output("z", x);
  };
  check_pass(fuse_elementwise, long_chain, {"scale", "fused_elementwise", "fused_elementwise"});
  const auto many_inputs = [](GraphBuilder& b) {
    auto x = b.input("x", {kBatch, 6});
    for (std::size_t i = 0; i < 2 * Formula::kMostInputs; ++i) x = x + b.input("y" + std::to_string(i), {kBatch, 6});
    b.output("z", x);
  };
  check_pass(fuse_elementwise, many_inputs, {"fused_elementwise", "fused_elementwise", "fused_elementwise"});
}

TEST_CASE("an op that reads a parameter before its update does not move past the update", "[passes]") {
  const auto update_between = [](GraphBuilder& b) {
    const auto a = b.parameter("a", {3}, Initializer::zeros());
    const auto doubled = scale(a, 2.0);
    Optimizer(Sgd{}).apply(std::vector{a}, std::vector{b.input("da", {3})}, b.batch_info());
    b.output("z", exp(doubled));
  };
  check_pass(fuse_elementwise, update_between, {"scale", "learning_rate", "sgd_update", "exp"});
}

TEST_CASE("all ops of formulas keep their bits when they are fused", "[passes][test device]") {
  const auto after = ops_of(fuse_elementwise(graph_of(all_ops)));
  CHECK(std::ranges::count(after, "fused_elementwise") >= 2);
  check_pass(fuse_elementwise, all_ops, after);
  check_pass(fuse_elementwise, all_ops, after, testing::test_device());
}

TEST_CASE("passes keep every bit on a GPU", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  check_pass(fuse_elementwise, all_ops, ops_of(fuse_elementwise(graph_of(all_ops))), *device);
  check_pass(fuse_elementwise, tree, {"fused_elementwise"}, *device);
  check_pass(fuse_backward_epilogues, relu_layer, {"relu_grad_bias", "mul"}, *device);
  for (const auto build : {classifier, mean_of_classifier})
    check_pass(cross_entropy_of_logits, build, ops_of(cross_entropy_of_logits(graph_of(build))), *device);
}

TEST_CASE("a step of training goes through all passes", "[passes]") {
  const auto step = [](GraphBuilder& b) {
    const auto x = b.input("x", {kBatch, 4});
    const std::vector parameters{b.parameter("w1", {4, 8}, Initializer::zeros()),
                                 b.parameter("b1", {8}, Initializer::zeros()),
                                 b.parameter("w2", {8, 2}, Initializer::zeros())};
    const auto y = matmul(relu(linear(x, parameters[0], parameters[1])), parameters[2]);
    const auto loss = reduce_sum(tanh(scale(y, 0.5)), Axes{0, 1});
    b.output("loss", loss);
    Optimizer(Sgd{.lr = 0.1, .momentum = 0.9}).apply(parameters, gradients(loss, parameters), b.batch_info());
  };
  check_pass(
      [](const Graph& graph) { return optimize_for_device(eliminate_dead_code(graph)); }, step,
      {"matmul", "relu", "matmul", "fused_elementwise", "reduce_sum", "reshape", "broadcast_to", "fused_elementwise",
       "matmul", "matmul_relu_grad", "matmul", "reduce_sum", "learning_rate", "sgd_updates"});
}

}  // namespace troupe::ops_test
