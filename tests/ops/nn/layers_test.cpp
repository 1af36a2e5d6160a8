#include "troupe/ops/nn/layers.hpp"

#include <algorithm>
#include <functional>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/cases/reference.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

struct Parameter {
  std::string name;
  Shape shape;
  Initializer initializer;
  bool operator==(const Parameter&) const = default;
};

std::vector<Parameter> parameters_of(const Graph& graph) {
  std::vector<Parameter> parameters;
  for (auto id : graph.sources(kParameter))
    parameters.push_back({graph.producer(id).name, graph.info(id).shape, graph.producer(id).initializer});
  return parameters;
}

Graph graph_of(const std::function<Value(Value)>& model, const Shape& features) {
  GraphBuilder builder;
  builder.output("y", model(builder.input("x", features)));
  return std::move(builder).build();
}

struct Doubled {
  static constexpr const char* kName = "doubled";
  Value operator()(Value x) const { return scale(x, 2.0); }
};

}  // namespace

TEST_CASE("a model names its parameters by kind and number", "[layers]") {
  const Sequential model{Conv2d{8, 3, relu}, MaxPool{}, Conv2d{16, 3}, Flatten{}, Dense{10, relu}, Dense{4}};
  const auto graph = graph_of(model, {kBatch, 8, 8, 3});
  const auto fan_in = Initializer::fan_in_uniform(), zeros = Initializer::zeros();
  CHECK(parameters_of(graph) == std::vector<Parameter>{{"conv1.weights", {3, 3, 3, 8}, fan_in},
                                                       {"conv1.bias", {8}, zeros},
                                                       {"conv2.weights", {3, 3, 8, 16}, fan_in},
                                                       {"conv2.bias", {16}, zeros},
                                                       {"dense1.weights", {16, 10}, fan_in},
                                                       {"dense1.bias", {10}, zeros},
                                                       {"dense2.weights", {10, 4}, fan_in},
                                                       {"dense2.bias", {4}, zeros}});
  CHECK(graph.info(graph.output("y")).shape == Shape{kBatch, 4});
}

TEST_CASE("an initializer may be chosen", "[layers]") {
  const auto chosen = Initializer::constant(0.5);
  const auto dense = graph_of(Dense{.units = 2, .activation = relu, .initializer = chosen}, {kBatch, 3});
  CHECK(parameters_of(dense)[0].initializer == chosen);
  const auto conv = graph_of(Conv2d{.filters = 2, .kernel_size = 1, .initializer = chosen}, {kBatch, 3, 3, 1});
  CHECK(parameters_of(conv)[0].initializer == chosen);
}

TEST_CASE("a dense layer computes the activation of x times weights plus bias", "[layers]") {
  Program program(graph_of(Dense{2, relu}, {kBatch, 3}), 2);
  Arrays in{Array({2, 3}), Array({3, 2}), Array({2})};
  in[0].data = {1.0, 2.0, 3.0, -1.0, 0.5, 0.0};
  in[1].data = {1.0, -1.0, 0.5, 0.25, 2.0, 1.0};
  in[2].data = {0.5, -4.0};
  program.bind("x", to_tensor(in[0], DType::float32));
  program.bind("weights", to_tensor(in[1], DType::float32));
  program.bind("bias", to_tensor(in[2], DType::float32));
  program.run();
  const auto want = reference::matmul(false, false, true).forward(in)[0];
  CHECK(distance(to_array(program.output("y")), want) < 1e-6);
}

TEST_CASE("options reach the convolution and the pooling", "[layers]") {
  const auto shape_of = [](const std::function<Value(Value)>& model) {
    const auto graph = graph_of(model, {kBatch, 7, 9, 3});
    return graph.info(graph.output("y")).shape;
  };
  CHECK(shape_of(Conv2d{.filters = 5, .kernel_size = 3, .options = {.stride = 2, .padding = 1}}) ==
        Shape{kBatch, 4, 5, 5});
  CHECK(shape_of(MaxPool{{.kernel_size = 3, .stride = 1, .padding = 1}}) == Shape{kBatch, 7, 9, 3});
  CHECK(shape_of(MaxPool{}) == Shape{kBatch, 3, 4, 3});
  CHECK(shape_of(AveragePool{{.kernel_size = 3, .stride = 1, .padding = 1}}) == Shape{kBatch, 7, 9, 3});
  CHECK(shape_of(AveragePool{}) == Shape{kBatch, 3, 4, 3});
  CHECK(shape_of(GlobalAveragePool{}) == Shape{kBatch, 3});
  CHECK(shape_of(Flatten{}) == Shape{kBatch, 189});
}

TEST_CASE("an average pool gives the means of its windows, a global one the means of images", "[layers]") {
  Array image({1, 2, 4, 1});
  image.data = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 12.0};
  const auto means_of = [&](const std::function<Value(Value)>& layer) {
    Program program(graph_of(layer, {kBatch, 2, 4, 1}), 1);
    program.bind("x", to_tensor(image, DType::float32));
    program.run();
    return to_array(program.output("y")).data;
  };
  CHECK(means_of(AveragePool{}) == std::vector<double>{3.5, 6.5});
  CHECK(means_of(AveragePool{{.kernel_size = 2, .stride = 1}}) == std::vector<double>{3.5, 4.5, 6.5});
  CHECK(means_of(GlobalAveragePool{}) == std::vector<double>{5.0});
}

TEST_CASE("a user-defined layer works in a model like any other", "[layers]") {
  const auto graph = graph_of(Sequential{Doubled{}, Dense{2}, Doubled{}}, {kBatch, 3});
  const auto named = [&](const std::string& name) {
    return std::ranges::any_of(graph.nodes(), [&](const Node& node) { return node.name == name; });
  };
  CHECK(named("doubled1.scale"));
  CHECK(named("doubled2.scale"));
}

TEST_CASE("a lambda is a layer, with and without a capture", "[layers]") {
  const double factor = 3.0;
  const Sequential model{[factor](Value x) { return scale(x, factor); }, [](Value x) { return x + 1.0; },
                         std::function<Value(Value)>(relu), Dense{2}};
  const auto graph = graph_of(model, {kBatch, 2});
  CHECK(parameters_of(graph)[0].name == "dense1.weights");
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node.name);
  CHECK(std::ranges::count(names, "activation1.scale") == 1);
  CHECK(std::ranges::count(names, "activation3.relu") == 1);
}

TEST_CASE("layers refuse inputs that they cannot take", "[layers]") {
  CHECK(contains(error_of([] { graph_of(Dense{0}, {kBatch, 3}); }), "[dense] needs at least one unit, not 0"));
  CHECK(contains(error_of([] { graph_of(Dense{2}, {kBatch}); }), "[dense] needs [..., N], not float32[B]"));
  CHECK(contains(error_of([] { graph_of(Conv2d{2, 0}, {kBatch, 3, 3, 1}); }), "[conv2d] needs at least one filter"));
  CHECK(contains(error_of([] { graph_of(Conv2d{2, 1}, {kBatch, 3}); }), "[conv2d] needs images [B, H, W, C]"));
}

TEST_CASE("layers accept the smallest and the largest option, and refuse the next one by name", "[layers][errors]") {
  const Shape vectors{kBatch, 3}, images{kBatch, 3, 3, 1}, sequences{kBatch, 2, 4};
  const auto refusal = [](const std::function<Value(Value)>& layer, const Shape& of) {
    return error_of([&] { graph_of(layer, of); });
  };
  CHECK(refusal(Dense{1}, vectors).empty());
  CHECK(refusal(Conv2d{1, 1}, images).empty());
  CHECK(contains(refusal(Conv2d{0, 1}, images), "[conv2d] needs at least one filter"));
  CHECK(contains(refusal(Conv2d{1, 1, nullptr, {.groups = 0}}, images), "[conv2d] needs at least one group, not 0"));
  for (const double momentum : {0.0, 1.0}) CHECK(refusal(BatchNorm{.momentum = momentum}, vectors).empty());
  for (const double momentum : {-0.1, 1.1})
    CHECK(refusal(BatchNorm{.momentum = momentum}, vectors) == "[batch_norm] the momentum must be in [0, 1]");
  for (const double rate : {0.0, 0.999}) CHECK(refusal(Dropout{.rate = rate}, vectors).empty());
  for (const double rate : {-0.1, 1.0})
    CHECK(refusal(Dropout{.rate = rate}, vectors) == "[dropout] the rate must be in [0, 0.999]");
  CHECK(refusal(MultiHeadAttention{.heads = 1}, sequences).empty());
  CHECK(refusal(MultiHeadAttention{.heads = 4}, sequences).empty());
  for (const std::int64_t heads : {0, 3})
    CHECK(refusal(MultiHeadAttention{.heads = heads}, sequences) ==
          "[attention] 4 values do not divide into " + std::to_string(heads) + " heads");
  CHECK(refusal(Lstm{1}, sequences).empty());
  CHECK(refusal(Lstm{0}, sequences) == "[lstm] needs at least one unit, not 0");
  CHECK(refusal(Gru{1}, sequences).empty());
  CHECK(refusal(Gru{0}, sequences) == "[gru] needs at least one unit, not 0");
}

}  // namespace troupe::ops_test
