#include "troupe/ops/graph/graph.hpp"

#include <functional>

#include "troupe/ops/core/name.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/layers.hpp"
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

TEST_CASE("a graph lists its nodes in topological order", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 3});
  const auto w = builder.parameter("w", {3}, Initializer::constant(2.0));
  const auto y = mul(x, w);
  builder.output("y", relu(y));
  const auto graph = std::move(builder).build();
  CHECK(names_of(graph) == std::vector<std::string>{"x", "w", "mul", "relu"});
  CHECK(graph.info(graph.output("y")) == TensorInfo{Shape{kBatch, 3}, DType::float32});
  CHECK(graph.producer(graph.output("y")).is(kRelu));
  CHECK(graph.producer(w.id()).trainable);
  CHECK(graph.readers()[y.id()] == std::vector<int>{3});
  CHECK(graph.readers()[graph.output("y")].empty());
  CHECK(graph.has_output("y"));
  CHECK_FALSE(graph.has_output("z"));
  CHECK(error_of([&] { (void)graph.output("z"); }) == "[graph] there is no output 'z'");
}

TEST_CASE("sources are found by their kind", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  const auto v = builder.state("w/velocity", {2}, Initializer::zeros());
  const auto c = builder.constant(Tensor::scalar(1.0F));
  const auto& graph = builder.graph();
  CHECK(graph.sources(kInput) == std::vector<ValueId>{x.id()});
  CHECK(graph.sources(kParameter) == std::vector<ValueId>{w.id(), v.id()});
  CHECK(graph.sources(kConstant) == std::vector<ValueId>{c.id()});
  CHECK_FALSE(graph.producer(v.id()).trainable);
}

TEST_CASE("a view leads to the value that owns the memory", "[graph]") {
  GraphBuilder builder;
  const auto x = scale(builder.input("x", {4, 6}), 2.0);
  const auto view = view_at(reshape(x, {24}), 3, {2});
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

TEST_CASE("a name that no file or report can hold is refused by every function of a builder that takes one",
          "[graph][errors]") {
  for (const auto& name : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string(1'025, 'a'),
                           std::string("a\"b"), std::string("a\\b"), std::string("\xff")}) {
    const auto refuses = [&](const std::function<void(GraphBuilder&)>& use) {
      GraphBuilder builder;
      return contains(error_of([&] { use(builder); }), "name");
    };
    INFO(name.substr(0, 10));
    CHECK(refuses([&](auto& builder) { builder.input(name, {2}); }));
    CHECK(refuses([&](auto& builder) { builder.parameter(name, {2}, Initializer::zeros()); }));
    CHECK(refuses([&](auto& builder) { builder.row_sparse_parameter(name, {2}, Initializer::zeros()); }));
    CHECK(refuses([&](auto& builder) { builder.buffer(name, {2}, Initializer::zeros()); }));
    CHECK(refuses([&](auto& builder) { const GraphBuilder::Scope scope(builder, name); }));
    if (name.size() > kMaxNameBytes) continue;  // names of states and outputs may be longer
    CHECK(refuses([&](auto& builder) { builder.state(name, {2}, Initializer::zeros()); }));
    CHECK(refuses([&](auto& builder) { builder.replica_state(name, {2}, Initializer::zeros()); }));
    CHECK(refuses([&](auto& builder) { builder.output(name, builder.input("x", {2})); }));
  }
}

TEST_CASE("a name with all its scopes has at most 1,024 bytes, and a parameter no slash", "[graph][errors]") {
  GraphBuilder builder;
  const GraphBuilder::Scope scope(builder, std::string(1'000, 's'));
  CHECK(error_of([&] { builder.parameter(std::string(23, 'w'), {2}, Initializer::zeros()); }).empty());
  CHECK(contains(error_of([&] { builder.parameter(std::string(24, 'w'), {2}, Initializer::zeros()); }),
                 "of a parameter has 1025 bytes; at most 1024 are possible"));
  CHECK(contains(error_of([&] { builder.buffer("mean/of", {2}, Initializer::zeros()); }), "has a slash"));
  CHECK(error_of([&] { builder.state("w/velocity", {2}, Initializer::zeros()); }).empty());
}

TEST_CASE("two layers without scopes get an error that names the remedy", "[graph][errors]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 2});
  const auto y = Dense{3}(x);
  CHECK(error_of([&] { Dense{3}(y); }) ==
        "[graph] there are two values named 'weights'; layers outside a Sequential need a GraphBuilder::Scope each, "
        "whose name is put before the names of their parameters");
}

TEST_CASE("missing outputs, unknown ops and foreign values are errors", "[graph]") {
  GraphBuilder builder, other;
  const auto x = builder.input("x", {2});
  CHECK(contains(error_of([&] { (void)builder.graph().output("loss"); }), "no output 'loss'"));
  CHECK_FALSE(builder.graph().has_output("loss"));
  CHECK(contains(error_of([&] { find_op("frobnicate"); }), "[graph] there is no op 'frobnicate'"));
  CHECK(contains(error_of([&] { builder.apply_one(kRelu, {Value()}); }), "[relu] an input is invalid"));
  CHECK(contains(error_of([&] { add(x, other.input("x", {2})); }), "[add] an input belongs to another graph"));
  CHECK(contains(error_of([&] { builder.parameter("w", {kBatch}, Initializer::zeros()); }), "size of the batch"));
}

TEST_CASE("a builder extends a graph", "[graph]") {
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

TEST_CASE("shapes returned by a value stay valid while the graph grows", "[graph]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2, 3});
  const auto& shape = x.shape();
  const auto& info = x.info();
  auto y = x;
  for (int i = 0; i < 1000; ++i) y = relu(y);
  CHECK(shape == Shape{2, 3});
  CHECK(info == y.info());
}

TEST_CASE("an invalid value refuses every question", "[graph]") {
  const Value none;
  CHECK_FALSE(none.valid());
  CHECK(contains(error_of([&] { (void)none.shape(); }), "[graph] an invalid value"));
  CHECK(contains(error_of([&] { (void)none.dtype(); }), "[graph] an invalid value"));
  CHECK(contains(error_of([&] { (void)none.builder(); }), "[graph] an invalid value"));
  CHECK(contains(error_of([&] { relu(none); }), "[graph] an invalid value"));
  CHECK(contains(error_of([&] { GraphBuilder().constant(Tensor()); }), "[tensor] a handle without a tensor"));
}

TEST_CASE("the copy of a node gets a new name, the copy of a source keeps it", "[graph]") {
  GraphBuilder first, second;
  const auto x = first.input("x", {2});
  relu(x);
  const auto z = second.copy_source(first.graph().nodes()[0], x.info());
  second.copy(first.graph().nodes()[1], std::vector{z});
  second.copy(first.graph().nodes()[1], std::vector{z});
  relu(z);
  CHECK(names_of(second.graph()) == std::vector<std::string>{"x", "relu", "relu_2", "relu_3"});
  CHECK(contains(error_of([&] { second.copy_source(first.graph().nodes()[0], x.info()); }), "two values named 'x'"));
  CHECK(contains(error_of([&] { second.copy(first.graph().nodes()[1], std::vector{x}); }), "another graph"));
}

namespace {

void update(Value target, Value gradient) {
  auto& builder = target.builder();
  builder.apply(kSgdUpdate, std::vector{target, gradient, builder.constant(Tensor::scalar(0.1F))},
                {{"momentum", 0.0}, {"nesterov", false}, {"weight_decay", 0.0}, {"clipped", false}});
}

}  // namespace

TEST_CASE("a parameter has one update in a graph, and nothing else has any", "[graph]") {
  GraphBuilder builder;
  const auto g = builder.input("g", {2});
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  const auto other = builder.parameter("other", {2}, Initializer::zeros());
  update(w, g);
  update(other, w);
  CHECK(contains(error_of([&] { update(w, g); }), "[sgd_update] updates 'w', which 'sgd_update' updates already"));
  CHECK(contains(error_of([&] { update(g, w); }), "[sgd_update] updates 'g', which is not a parameter"));
  CHECK(contains(error_of([&] { update(relu(w), g); }), "updates 'relu', which is not a parameter"));
  CHECK(contains(error_of([&] { update(reshape(w, {2}), g); }), "updates 'reshape', which is not a parameter"));
  const auto nodes = builder.graph().nodes().size();
  GraphBuilder extended(std::move(builder).build());
  CHECK(contains(error_of([&] { update(extended.value(w.id()), extended.value(g.id())); }), "updates already"));
  CHECK(extended.graph().nodes().size() == nodes + 1);
}

TEST_CASE("every op is found by its name", "[graph]") {
  for (const auto* op : built_in_ops()) {
    CHECK(&find_op(op->name) == op);
    CHECK(op->infer != nullptr);
  }
}

namespace {

std::vector<TensorInfo> infer_first(const OpInputs& inputs) {
  return {inputs[0]};
}

const OpDef kNamedTwice{.name = "relu", .infer = infer_first};
const OpDef kNameless{.infer = infer_first};
const OpDef kShapeless{.name = "shapeless"};
const OpDef kRegistered{.name = "registered by a test", .infer = infer_first};

}  // namespace

TEST_CASE("an op from outside the library is found once it is registered", "[graph]") {
  CHECK_FALSE(error_of([] { find_op(kRegistered.name); }).empty());
  register_op(kRegistered);
  CHECK(&find_op("registered by a test") == &kRegistered);
  CHECK(contains(error_of([] { register_op(kRegistered); }), "[registered by a test] there is an op of that name"));
  CHECK(contains(error_of([] { register_op(kNamedTwice); }), "[relu] there is an op of that name already"));
  CHECK(contains(error_of([] { register_op(kNameless); }), "[graph] an op needs a name"));
  CHECK(contains(error_of([] { register_op(kShapeless); }), "[shapeless] has no shape rule"));
}

TEST_CASE("the batch info is one input, whose name is taken", "[graph]") {
  GraphBuilder builder;
  CHECK(builder.batch_info().id() == builder.batch_info().id());
  GraphBuilder taken;
  taken.input(GraphBuilder::kBatchInfo, {kBatch, 4}, DType::int64);
  CHECK(contains(error_of([&] { taken.batch_info(); }), "[graph] the input 'batch_info' is int64[B, 4]"));
}

TEST_CASE("a buffer has one next value, like itself", "[graph]") {
  GraphBuilder builder;
  const GraphBuilder::Scope scope(builder, "norm");
  const auto mean = builder.buffer("mean", {3}, Initializer::zeros());
  builder.next_value(mean, scale(mean, 2.0));
  CHECK(builder.graph().has_output(GraphBuilder::name_of_next("norm.mean")));
  CHECK(contains(error_of([&] { builder.next_value(mean, mean); }), "two outputs"));
  const auto other = builder.buffer("other", {3}, Initializer::zeros());
  CHECK(contains(error_of([&] { builder.next_value(other, builder.input("x", {4})); }), "must be float32[3]"));
  const auto weights = builder.parameter("weights", {3}, Initializer::zeros());
  CHECK(contains(error_of([&] { builder.next_value(weights, weights); }), "'norm.weights' is not a buffer"));
}

}  // namespace troupe::ops_test
