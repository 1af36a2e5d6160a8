#include "troupe/strategies/training/training_graph.hpp"

#include <algorithm>

#include "troupe/ops/graph/print.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<Value> unchanged(std::span<const Value> gradients) {
  return {gradients.begin(), gradients.end()};
}

std::ptrdiff_t count_of(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) { return node.is(op); });
}

}  // namespace

TEST_CASE("a forward graph has bias and activation in its products, and no update") {
  const auto graph = forward_graph(small_spec(), Shape{kBatch, 4, 3});
  CHECK(count_of(graph, "matmul") == 2);
  CHECK(count_of(graph, "relu") == 0);
  CHECK(count_of(graph, "sgd_update") == 0);
  CHECK(graph.info(graph.output(names::kScores)) == TensorInfo{Shape{kBatch, 2}, DType::float32});
  CHECK(graph.info(graph.output(names::kLoss)) == TensorInfo{Shape{}, DType::float32});
}

TEST_CASE("a training graph computes no gradient that nobody needs") {
  const auto graph = training_graph(small_spec(), Shape{kBatch, 4, 3}, unchanged);
  // Two forward, two of the weights, one of the hidden layer; none of the features.
  CHECK(count_of(graph, "matmul") == 5);
  CHECK(count_of(graph, "sgd_update") == 4);
}

TEST_CASE("gradients are handed over in the order in which the backward pass makes them") {
  std::vector<Shape> shapes;
  training_graph(small_spec(), Shape{kBatch, 4, 3}, [&](std::span<const Value> gradients) {
    ValueId last = -1;
    for (const auto& gradient : gradients) {
      CHECK(gradient.id() > last);
      last = gradient.id();
      shapes.push_back(gradient.shape());
    }
    return unchanged(gradients);
  });
  REQUIRE(shapes.size() == 4);
  CHECK(shapes.back().elements() <= 96);
  CHECK((shapes[0] == Shape{2} || shapes[0] == Shape{8, 2}));
}
