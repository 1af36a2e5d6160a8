#include <algorithm>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/batch_norm.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/conv2d.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/pool.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe {

namespace {

constexpr auto kNarrow = DType::bfloat16;

Value parameter(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.parameter(name, shape, Initializer::fan_in_uniform());
}

/// A convolution, a pool and two dense layers, with gradients and updates.
Graph training_graph() {
  GraphBuilder forward;
  const auto labels = forward.input("labels", {kBatch}, DType::int32);
  const auto info = forward.input("batch_info", {4}, DType::int64);
  const auto images = forward.input("images", {kBatch, 8, 8, 2});
  const auto kernel = parameter(forward, "conv.weights", {3, 3, 2, 4}),
             conv_bias = parameter(forward, "conv.bias", {4});
  const auto features = flatten(max_pool(relu(conv2d(images, kernel, conv_bias))));
  const auto weights1 = parameter(forward, "dense1.weights", {36, 16}), bias1 = parameter(forward, "dense1.bias", {16});
  const auto hidden = relu(linear(features, weights1, bias1));
  const auto weights2 = parameter(forward, "dense2.weights", {16, 3}), bias2 = parameter(forward, "dense2.bias", {3});
  const auto logits = linear(hidden, weights2, bias2);
  forward.output("logits", logits);
  forward.output("loss", batch_mean(softmax_cross_entropy(logits, labels).loss, info));
  GraphBuilder builder(optimize_forward(std::move(forward).build()));
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources(kParameter)) parameters.push_back(builder.value(id));
  const auto loss = builder.value(builder.graph().output("loss"));
  Optimizer(Sgd{.lr = 0.1, .momentum = 0.9})
      .apply(parameters, gradients(loss, parameters), builder.value(info.id()), Value());
  return eliminate_dead_code(std::move(builder).build());
}

DType input_dtype(const Graph& graph, const Node& node, std::size_t i) {
  return graph.info(node.inputs[i]).dtype;
}
DType result_dtype(const Graph& graph, const Node& node) {
  return graph.info(node.outputs[0]).dtype;
}

std::vector<const Node*> nodes_of(const Graph& graph, const OpDef& op) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node.is(op)) nodes.push_back(&node);
  return nodes;
}

/// Adds the gradients of the output "loss" with respect to all parameters, after the passes on the forward graph.
Graph with_gradients(const Graph& forward) {
  GraphBuilder builder(optimize_forward(forward));
  std::vector<Value> parameters;
  for (auto id : builder.graph().sources(kParameter)) parameters.push_back(builder.value(id));
  int i = 0;
  for (const auto gradient : gradients(builder.value(builder.graph().output("loss")), parameters))
    builder.output("gradient" + std::to_string(i++), gradient);
  return eliminate_dead_code(std::move(builder).build());
}

}  // namespace

TEST_CASE("products and the values between them get 16 bits, all else stays float32", "[compute_in]") {
  const auto graph = compute_in(training_graph(), kNarrow);
  for (const auto* op : {&kMatmul, &kConv2d, &kConv2dGradWeights}) {
    CHECK_FALSE(nodes_of(graph, *op).empty());
    for (const auto* node : nodes_of(graph, *op))
      for (std::size_t i = 0; i < 2; ++i) CHECK(input_dtype(graph, *node, i) == kNarrow);
  }
  for (const auto* op : {&kConv2d, &kMaxPool, &kMaxPoolGrad, &kReluGrad}) {
    CHECK_FALSE(nodes_of(graph, *op).empty());
    for (const auto* node : nodes_of(graph, *op)) CHECK(result_dtype(graph, *node) == kNarrow);
  }
  for (const auto* op : {&kSoftmaxCrossEntropy, &kSoftmaxCrossEntropyGrad, &kSgdUpdate, &kConv2dGradWeights})
    for (const auto* node : nodes_of(graph, *op))
      for (const auto output : node->outputs) CHECK(graph.info(output).dtype == DType::float32);
  for (const auto* node : nodes_of(graph, kSgdUpdate))
    for (const auto input : node->inputs) CHECK_FALSE(is_16_bit(graph.info(input).dtype));
  for (const auto id : graph.sources(kParameter)) CHECK(graph.info(id).dtype == DType::float32);
  for (const auto& named : graph.outputs()) CHECK(graph.info(named.value).dtype == DType::float32);
}

TEST_CASE("products give sums over the batch, and results read only in float32, in float32", "[compute_in]") {
  const auto graph = compute_in(training_graph(), kNarrow);
  int wide = 0, narrow = 0;
  for (const auto* product : nodes_of(graph, kMatmul)) {
    const bool of_rows = graph.info(product->outputs[0]).shape.has_batch();
    const bool is_wide = result_dtype(graph, *product) == DType::float32;
    if (!of_rows) CHECK(is_wide);
    if (product->inputs.size() == 3) CHECK(input_dtype(graph, *product, 2) == result_dtype(graph, *product));
    ++(is_wide ? wide : narrow);
  }
  // Wide are the logits and two gradients of weights; narrow are the hidden layer and two gradients of activations.
  CHECK(wide == 3);
  CHECK(narrow == 3);
}

TEST_CASE("every value is cast once, and nothing is cast back and forth", "[compute_in]") {
  const auto graph = compute_in(training_graph(), kNarrow);
  const auto casts = nodes_of(graph, kCast);
  std::vector<ValueId> sources;
  for (const auto* node : casts) {
    CHECK_FALSE(graph.producer(node->inputs[0]).is(kCast));
    sources.push_back(node->inputs[0]);
  }
  std::ranges::sort(sources);
  CHECK(std::ranges::adjacent_find(sources) == sources.end());
  // The casts are those of the images, of all parameters but the bias of the logits, and of the gradient of the logits.
  CHECK(casts.size() == 1 + 5 + 1);
}

TEST_CASE("element-wise ops follow their inputs that derive from the batch", "[compute_in]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 4}), weights = parameter(builder, "weights", {4, 4});
  const auto apart = relu(scale(x, 2.0));
  const auto product = matmul(x, weights);
  const auto mixed = add(product, apart);
  const auto alike = add(mul(product, product), parameter(builder, "shift", {4}));
  builder.output("mixed", mixed);
  builder.output("alike", matmul(alike, weights));
  // The gradient of an activation is narrow for every dy, because products read it.
  builder.output("gradient",
                 matmul(builder.apply_one(kReluGrad, {builder.input("dy", {kBatch, 4}), product}), weights));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  CHECK(result_dtype(graph, *nodes_of(graph, kScale)[0]) == DType::float32);
  CHECK(result_dtype(graph, *nodes_of(graph, kRelu)[0]) == DType::float32);
  CHECK(result_dtype(graph, *nodes_of(graph, kMul)[0]) == kNarrow);
  CHECK(result_dtype(graph, *nodes_of(graph, kReluGrad)[0]) == kNarrow);
  const auto sums = nodes_of(graph, kAdd);
  CHECK(result_dtype(graph, *sums[0]) == DType::float32);
  CHECK(result_dtype(graph, *sums[1]) == kNarrow);
}

TEST_CASE("norms of images follow their images with statistics in float32, if asked for", "[compute_in]") {
  GraphBuilder forward;
  const auto images = forward.input("images", {kBatch, 6, 6, 2});
  const auto kernel = parameter(forward, "kernel", {3, 3, 2, 4}), next = parameter(forward, "next", {3, 3, 4, 4});
  const auto scale = parameter(forward, "scale", {4}), shift = parameter(forward, "shift", {4});
  const auto x = conv2d(images, kernel);
  const auto moments = batch_moments(reshape(replica_moments(x), {1, 3, 4}));
  const auto y = conv2d(relu(batch_norm(x, moments, scale, shift, {})), next);
  forward.output("loss", reduce_sum(y, std::vector<std::int64_t>{0, 1, 2, 3}));
  const auto step = with_gradients(std::move(forward).build());
  const OpDef* const norms[] = {&kReplicaMoments, &kBatchNorm, &kBatchNormGradSums, &kBatchNormGrad};
  for (const bool narrow : {false, true}) {
    const auto graph = compute_in(step, kNarrow, narrow ? NormDType::narrow : NormDType::float32);
    for (const auto* op : norms) {
      INFO(op->name);
      REQUIRE(nodes_of(graph, *op).size() == 1);
      const auto& node = *nodes_of(graph, *op)[0];
      for (const auto input : node.inputs)
        CHECK(is_16_bit(graph.info(input).dtype) == (narrow && graph.info(input).shape.has_batch()));
    }
    // No image between the convolutions is cast: the casts are those of the images, of both kernels and of the gradient
    // of the sum.
    if (narrow) CHECK(nodes_of(graph, kCast).size() == 4);
    CHECK(result_dtype(graph, *nodes_of(graph, kBatchNorm)[0]) == (narrow ? kNarrow : DType::float32));
  }
}

TEST_CASE("norms in front of a residual follow their images, and so does the gradient behind its relu",
          "[compute_in]") {
  GraphBuilder forward;
  const auto images = forward.input("images", {kBatch, 6, 6, 4});
  const auto kernel = parameter(forward, "kernel", {3, 3, 4, 4}), next = parameter(forward, "next", {3, 3, 4, 4});
  const auto last = parameter(forward, "last", {2, 2, 4, 4});
  const auto scale = parameter(forward, "scale", {4}), shift = parameter(forward, "shift", {4});
  const auto normalized = [&](Value x) {
    return batch_norm(x, batch_moments(reshape(replica_moments(x), {1, 3, 4})), scale, shift, {});
  };
  const Conv2dOptions same_size{.padding = 1};
  const auto x = relu(normalized(conv2d(images, kernel, same_size)));
  const auto y = conv2d(relu(add(normalized(conv2d(x, next, same_size)), x)), last);
  forward.output("loss", reduce_sum(y, std::vector<std::int64_t>{0, 1, 2, 3}));
  const auto graph = compute_in(with_gradients(std::move(forward).build()), kNarrow, NormDType::narrow);
  std::vector<std::size_t> inputs_of_sums;
  for (const auto* op : {&kReplicaMoments, &kBatchNorm, &kBatchNormGradSums, &kBatchNormGrad})
    for (const auto* node : nodes_of(graph, *op)) {
      INFO(op->name);
      for (const auto input : node->inputs)
        CHECK(is_16_bit(graph.info(input).dtype) == graph.info(input).shape.has_batch());
      if (op == &kBatchNormGradSums) inputs_of_sums.push_back(node->inputs.size());
    }
  // One computes the relu again; the other, in front of the residual, reads its result.
  std::ranges::sort(inputs_of_sums);
  CHECK(inputs_of_sums == std::vector<std::size_t>{5, 6});
}

TEST_CASE("a loss of element-wise ops stays float32, as do the values that it is computed from", "[compute_in]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 4}), targets = builder.input("targets", {kBatch, 4});
  const auto logits = matmul(x, parameter(builder, "weights", {4, 4}));
  builder.output("loss", sub(softplus(logits), mul(logits, targets)));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  CHECK(result_dtype(graph, *nodes_of(graph, kMatmul)[0]) == DType::float32);
  CHECK(input_dtype(graph, *nodes_of(graph, kMatmul)[0], 0) == kNarrow);
  CHECK(nodes_of(graph, kCast).size() == 2);
  CHECK(result_dtype(graph, *nodes_of(graph, kSoftplus)[0]) == DType::float32);
}

TEST_CASE("a value that is compared with a threshold stays float32", "[compute_in]") {
  GraphBuilder builder;
  const auto logits = matmul(builder.input("x", {kBatch, 4}), parameter(builder, "weights", {4, 4}));
  builder.output("loss", softmax_cross_entropy(logits, builder.input("labels", {kBatch}, DType::int32)).loss);
  builder.output("positive", reduce_sum(at_least(logits, 0.0), std::vector<std::int64_t>{1}));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  CHECK(result_dtype(graph, *nodes_of(graph, kMatmul)[0]) == DType::float32);
  CHECK(result_dtype(graph, *nodes_of(graph, kAtLeast)[0]) == DType::float32);
}

TEST_CASE("products of parameters or gradients alone keep their bits", "[compute_in]") {
  GraphBuilder builder;
  const auto a = parameter(builder, "a", {4, 4});
  builder.output("square", matmul(a, a));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  CHECK(nodes_of(graph, kCast).empty());
}

TEST_CASE("a parameter is cast again for readers after its update", "[compute_in]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 4}), weights = parameter(builder, "weights", {4, 4});
  builder.output("before", matmul(x, weights));
  builder.apply_one(kAssign, {weights, builder.input("next", {4, 4})});
  builder.output("after", matmul(x, weights));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  const auto products = nodes_of(graph, kMatmul);
  REQUIRE(products.size() == 2);
  CHECK(products[0]->inputs[0] == products[1]->inputs[0]);
  CHECK(products[0]->inputs[1] != products[1]->inputs[1]);
  CHECK(graph.producer(products[1]->inputs[1]).inputs[0] == graph.producer(products[0]->inputs[1]).inputs[0]);
}

TEST_CASE("a cast in the graph to the dtype that a value has already vanishes", "[compute_in]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 4}), weights = parameter(builder, "weights", {4, 4});
  const auto hidden = relu(matmul(x, weights));
  builder.output("y", cast(cast(hidden, kNarrow), DType::float32));
  builder.output("z", matmul(hidden, weights));
  const auto graph = compute_in(std::move(builder).build(), kNarrow);
  const auto& y = graph.producer(graph.output("y"));
  REQUIRE(y.is(kCast));
  CHECK(graph.producer(y.inputs[0]).is(kRelu));
}

}  // namespace troupe
