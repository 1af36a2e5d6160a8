#include "troupe/strategies/step/training_graph.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::vector<Field> kFields{{"features", {Shape{kBatch, 4, 3}, DType::float32}},
                                 {"labels", {Shape{kBatch}, DType::int32}}};

std::ptrdiff_t count_of(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const Node& node) { return node.op->name == op; });
}

}  // namespace

TEST_CASE("a forward graph has bias and activation in its products, and no update") {
  const auto graph = forward_graph(small_spec(), kFields);
  CHECK(count_of(graph, "matmul") == 2);
  CHECK(count_of(graph, "relu") == 0);
  CHECK(count_of(graph, "sgd_update") == 0);
  CHECK(graph.info(graph.output(names::model_output("output"))) == TensorInfo{Shape{kBatch, 2}, DType::float32});
  CHECK(graph.info(graph.output(names::kLoss)) == TensorInfo{Shape{}, DType::float32});
}

TEST_CASE("a training graph computes no unused gradient") {
  const auto graph = training_graph(small_spec(), kFields, unreduced(small_spec()));
  // Two forward, two of the weights, one of the hidden layer; none of the features.
  CHECK(count_of(graph, "matmul") == 5);
  CHECK(count_of(graph, "sgd_update") == 4);
}

TEST_CASE("gradients are handed over as the backward pass makes them, behind the check of the loss") {
  std::vector<Shape> shapes;
  training_graph(small_spec(), kFields, [&](Value loss_check, std::span<const Value> gradients) {
    CHECK(loss_check.shape() == Shape{});
    auto last = loss_check.id();
    for (const auto& gradient : gradients) {
      CHECK(gradient.id() > last);
      last = gradient.id();
      shapes.push_back(gradient.shape());
    }
    return unreduced(small_spec())(loss_check, gradients);
  });
  REQUIRE(shapes.size() == 4);
  CHECK((shapes[0] == Shape{2} || shapes[0] == Shape{8, 2}));
  CHECK(shapes.back().elements() <= 96);
}

TEST_CASE("a training whose optimizer has a group without parameters is refused; other graphs are not concerned") {
  auto spec = small_spec();
  spec.optimizer = spec.optimizer.frozen([](const std::string& name) { return name == "hidden.weight"; });
  CHECK_THROWS_WITH(training_graph(spec, kFields, unreduced(spec)),
                    Contains("group 1, given to frozen(), accepts none of"));
  CHECK_NOTHROW(forward_graph(spec, kFields));
}

TEST_CASE("a strategy that loses a gradient, or does not check one, is told so") {
  const auto loses_gradient = [](Value loss_check, std::span<const Value> gradients) {
    return unreduced(small_spec())(loss_check, gradients.first(3));
  };
  CHECK_THROWS_WITH(training_graph(small_spec(), kFields, loses_gradient),
                    Contains("[strategy] reduces 4 gradients to 3"));
  const auto checks_loss_alone = [](Value loss_check, std::span<const Value> gradients) {
    return ReducedGradients{loss_check, loss_check, {gradients.begin(), gradients.end()}};
  };
  CHECK_THROWS_WITH(training_graph(small_spec(), kFields, checks_loss_alone),
                    Contains("[strategy] the magnitude by which it decides must depend on all gradients"));
  const auto reports_loss_alone = [](Value loss_check, std::span<const Value> gradients) {
    auto reduced = unreduced(small_spec())(loss_check, gradients);
    reduced.own_magnitude = loss_check;
    return reduced;
  };
  CHECK_THROWS_WITH(training_graph(small_spec(), kFields, reports_loss_alone),
                    Contains("must depend on all gradients"));
  const auto decides_by_nothing = [](Value, std::span<const Value> gradients) {
    return ReducedGradients{.magnitude = {}, .own_magnitude = {}, .gradients = {gradients.begin(), gradients.end()}};
  };
  CHECK_THROWS_WITH(training_graph(small_spec(), kFields, decides_by_nothing),
                    Contains("[strategy] returns no magnitude"));
}

TEST_CASE("a graph reads the fields that model, loss and metrics name, and no others") {
  auto fields = kFields;
  fields.push_back({"weight", {Shape{kBatch}, DType::float32}});
  fields.insert(fields.begin(), {"unused", {Shape{kBatch, 9}, DType::uint8}});
  TrainingSpec spec{
      [](const Inputs& in) -> Outputs {
        return {{"logits", Sequential{Flatten{}, Dense{2}}(in["features"])}, {"hidden", Flatten{}(in["features"])}};
      },
      [](const Outputs& out, const Inputs& in) {
        return mul(SoftmaxCrossEntropy{"logits", "labels"}(out, in), in["weight"]);
      },
      Sgd{}};
  using Names = std::vector<std::string>;
  auto read = fields_read(forward_graph(spec, fields));
  std::ranges::sort(read);
  CHECK(read == Names{"features", "labels", "weight"});
  const auto prediction = prediction_graph(spec, fields);
  CHECK(fields_read(prediction) == Names{"features"});
  CHECK(prediction.has_output(names::model_output("hidden")));
  CHECK_FALSE(prediction.has_output(names::kLoss));
  // No metrics are asked for and this loss brings none; SoftmaxCrossEntropy itself brings one.
  CHECK(spec.used_metrics().empty());
  CHECK(small_spec().used_metrics().at(0).name == "accuracy");
}

TEST_CASE("errors about a field name it") {
  const auto refusal = [](const Model& model, const Loss& loss, const std::vector<Field>& fields) {
    try {
      forward_graph({model, loss, Sgd{}}, fields);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Sequential classifier{Flatten{}, Dense{2}};
  const Field features = kFields[0], labels = kFields[1], floats{"height", {Shape{kBatch}, DType::float32}};
  CHECK(refusal(classifier, SoftmaxCrossEntropy{}, kFields).empty());
  CHECK_THAT(refusal(classifier, SoftmaxCrossEntropy{.labels = "kind"}, kFields),
             Contains("no field 'kind' among 'features' float32[B, 4, 3], 'labels' int32[B]"));
  CHECK_THAT(refusal(classifier, SoftmaxCrossEntropy{}, {features, floats}),
             Contains("field 'height' float32[B] is read by the softmax cross-entropy, which needs int32[B]"));
  CHECK_THAT(refusal({classifier, "image"}, SoftmaxCrossEntropy{}, kFields), Contains("no field 'image'"));
  CHECK_THAT(refusal(classifier, SoftmaxCrossEntropy{.logits = "logits"}, kFields),
             Contains("no output 'logits' among 'output'"));
  CHECK_THAT(refusal(classifier, MeanSquaredError{}, {features, floats}),
             Contains("field 'height' float32[B] is read by the mean squared error, which needs float32[B, 2]"));
  CHECK_THAT(refusal(Flatten{}, [](Value y, Value) { return y; }, {features, labels}),
             Contains("[loss] it must be float32[B], one number per row, not float32[B, 12]"));
  const Model two = [](const Inputs& in) -> Outputs { return {{"a", in["features"]}, {"b", in["features"]}}; };
  CHECK_THAT(refusal(two, SoftmaxCrossEntropy{}, kFields), Contains("several outputs: name one of 'a', 'b'"));
}
