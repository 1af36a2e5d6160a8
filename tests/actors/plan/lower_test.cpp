#include "troupe/actors/plan/lower.hpp"

#include <algorithm>
#include <string_view>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const PlanActor& actor_named(const Plan& plan, std::string_view name) {
  const auto found =
      std::find_if(plan.actors.begin(), plan.actors.end(), [&](const PlanActor& actor) { return actor.name == name; });
  REQUIRE(found != plan.actors.end());
  return *found;
}

ActorId add_feeder(Plan& plan, const TensorInfo& info) {
  PlanActor feeder{.name = "feeder", .role = ActorRole::source};
  feeder.outputs.push_back({.info = info});
  return plan.add(feeder);
}

}  // namespace

TEST_CASE("views become views of edges, not actors") {
  GraphBuilder builder;
  const auto x = builder.input("x", {4, 6});
  builder.output("y", scale(view_at(reshape(x, {24}), 8, {2, 4}), 2.0));
  Plan plan;
  const auto feeder = add_feeder(plan, {Shape{4, 6}, DType::float32});
  lower(plan, std::move(builder).build(), {.inputs = {{"x", {feeder, 0}}}});
  REQUIRE(plan.actors.size() == 2);
  const auto& input = plan.actors[1].inputs.at(0);
  CHECK(input.byte_offset == 8 * sizeof(float));
  CHECK(input.info == TensorInfo{Shape{2, 4}, DType::float32});
  CHECK(plan.edges[input.edge].info.shape == Shape{4, 6});
}

TEST_CASE("a parameter that is updated is an edge with one token, in place in the store") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2, 3});
  const auto batch_info = builder.input("batch_info", {4}, DType::int64);
  const auto weights = builder.parameter("weights", {3, 2}, Initializer::zeros());
  const auto fixed = builder.parameter("fixed", {2}, Initializer::zeros());
  builder.output("y", add(matmul(x, weights), fixed));
  const std::vector<Value> parameters{weights}, gradients{reshape(x, {3, 2})};
  Optimizer(Sgd{.lr = 0.1, .momentum = 0.9}).apply(parameters, gradients, batch_info);
  const auto graph = std::move(builder).build();
  Plan plan;
  const auto feeder = add_feeder(plan, {Shape{2, 3}, DType::float32});
  const auto info_feeder = add_feeder(plan, {Shape{4}, DType::int64});
  lower(plan, graph, {.inputs = {{"x", {feeder, 0}}, {"batch_info", {info_feeder, 0}}}});

  const auto& update = actor_named(plan, "optimizer.sgd_update@0");
  CHECK(update.outputs[0].parameter == ParameterRef{"weights", 0});
  CHECK(update.outputs[1].parameter == ParameterRef{"weights/velocity", 0});
  CHECK(update.outputs[1].edge == kNone);
  CHECK(update.inputs[0].parameter == ParameterRef{"weights", 0});
  const auto& edge = plan.edges[update.outputs[0].edge];
  CHECK(edge.capacity == 1);
  CHECK(edge.initial_tokens == 1);
  REQUIRE(edge.consumers.size() == 1);
  CHECK(plan.actors[edge.consumers[0].actor].name == "matmul@0");
  CHECK(actor_named(plan, "add@0").inputs[1].parameter == ParameterRef{"fixed", 0});
  CHECK(plan.parameters.size() == 3);
}

TEST_CASE("a parameter that is read before and after its update has an edge for each") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2});
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  builder.output("before", scale(w, 2.0));
  const auto updated = builder.apply_one(kAssign, {w, x});
  builder.output("after", scale(updated, 3.0));
  Plan plan;
  const auto feeder = add_feeder(plan, {Shape{2}, DType::float32});
  const auto outputs = lower(plan, std::move(builder).build(), {.inputs = {{"x", {feeder, 0}}}});

  const auto& update = actor_named(plan, "assign@0");
  REQUIRE(update.outputs.size() == 2);
  for (const auto& output : update.outputs) CHECK(output.parameter == ParameterRef{"w", 0});
  const auto reader_of = [&](const PlanOutput& output) { return plan.edges[output.edge].consumers.at(0).actor; };
  CHECK(reader_of(update.outputs[0]) == outputs.at("before").actor);
  CHECK(plan.edges[update.outputs[0].edge].initial_tokens == 1);
  CHECK(reader_of(update.outputs[1]) == outputs.at("after").actor);
  CHECK(plan.edges[update.outputs[1].edge].initial_tokens == 0);
  CHECK(plan.edges[update.outputs[1].edge].capacity == 1);
}

TEST_CASE("inputs that nothing feeds, or with other shapes, are refused") {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {3}), 2.0));
  const auto graph = std::move(builder).build();
  Plan plan;
  CHECK_THROWS_WITH(lower(plan, graph, {}), Contains("nothing feeds the input 'x'"));
  const auto feeder = add_feeder(plan, {Shape{4}, DType::float32});
  CHECK_THROWS_WITH(lower(plan, graph, {.inputs = {{"x", {feeder, 0}}}}),
                    Contains("'x' is float32[3] but is fed with float32[4]"));
}

TEST_CASE("a collective without a communicator is refused") {
  GraphBuilder builder;
  builder.output("y", all_reduce(builder.input("x", {3})));
  const auto graph = std::move(builder).build();
  Plan plan;
  const auto feeder = add_feeder(plan, {Shape{3}, DType::float32});
  CHECK_THROWS_WITH(lower(plan, graph, {.inputs = {{"x", {feeder, 0}}}}), Contains("needs a communicator"));
}

TEST_CASE("names and outputs that do not exist are refused") {
  GraphBuilder builder;
  builder.output("y", scale(builder.input("x", {3}), 2.0));
  const auto graph = std::move(builder).build();
  Plan plan;
  const auto feeder = add_feeder(plan, {Shape{3}, DType::float32});
  CHECK_THROWS_WITH(lower(plan, graph, {.inputs = {{"x", {feeder, 0}}, {"z", {feeder, 0}}}}),
                    Contains("the graph has no input 'z'"));
  CHECK_THROWS_WITH(lower(plan, graph, {.inputs = {{"x", {feeder, 1}}}}), Contains("has no output 1"));
  CHECK_THROWS_WITH(plan.connect(7, 0, feeder), Contains("there is no actor 7 among 1"));
  CHECK_THROWS_WITH(plan.connect(feeder, 2, feeder), Contains("there is no output of 'feeder' with number 2"));
}
