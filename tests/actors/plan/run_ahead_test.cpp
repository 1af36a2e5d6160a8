#include "troupe/actors/plan/run_ahead.hpp"

#include "troupe/actors/plan/conductor.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Plan source_op_sink(Device device, std::vector<float>& record) {
  GraphBuilder builder;
  builder.output("y", scale(scale(builder.input("x", {2}), 2.0), 3.0));
  Plan plan;
  const auto source = plan.add(counting_source("source", 5));
  const auto ops =
      lower(plan, std::move(builder).build(), {.place = {0, device}, .inputs = {{"x", {source, 0}}}, .capacity = 1});
  plan.connect(ops.at("y"), plan.add(recording_sink("sink", record)), 1);
  return plan;
}

}  // namespace

TEST_CASE("edges between the host and a device get room to run ahead, others stay") {
  std::vector<float> record;
  auto plan = source_op_sink(test_device(), record);
  widen_for_run_ahead(plan);
  REQUIRE(plan.edges.size() == 3);
  for (const auto& edge : plan.edges) {
    const bool inner = plan.actors[edge.producer].role == ActorRole::op &&
                       plan.actors[edge.consumers.front().actor].role == ActorRole::op;
    INFO(edge.name);
    CHECK(edge.capacity == (inner ? 1 : kRunAhead));
  }
}

TEST_CASE("a plan without devices stays as it is") {
  std::vector<float> record;
  const auto plan = source_op_sink({DeviceType::cpu, 0}, record);
  auto widened = plan;
  widen_for_run_ahead(widened);
  CHECK(hash_of(widened) == hash_of(plan));
}

TEST_CASE("edges to collectives stay: gradients need no second buffer") {
  Plan plan;
  const std::vector<Place> places{{0, test_device(0)}, {0, test_device(1)}};
  Conductor conductor(plan, "sums", places);
  for (int rank = 0; rank < 2; ++rank) {
    GraphBuilder builder;
    builder.output("y", scale(builder.input("x", {2}), 2.0));
    const auto source = plan.add(counting_source("source" + std::to_string(rank), 5));
    const auto ops = lower(plan, std::move(builder).build(),
                           {.place = places[rank], .replica = rank, .inputs = {{"x", {source, 0}}}});
    plan.connect(ops.at("y"), conductor.add(CollectiveKind::all_reduce, 0, rank, {Shape{2}, DType::float32}));
  }
  conductor.finish();
  widen_for_run_ahead(plan);
  for (const auto& edge : plan.edges)
    for (const auto& consumer : edge.consumers)
      if (plan.actors[consumer.actor].role == ActorRole::collective) CHECK(edge.capacity <= 2);
}
