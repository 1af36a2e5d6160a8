#include "troupe/actors/plan/grain.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/liveness.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

TaskFactory no_sink(int) {
  return function_task([](const Firing&) {});
}

Plan plan_of(const Strategy& strategy, const Dataset& data, ParameterStore& store) {
  const auto spec = small_spec();
  return strategy.training_plan({spec, data, 0, store, {names::kLoss}, no_sink});
}

const PlanSegment& segment_with(const Plan& plan, const std::string& actor) {
  return *std::find_if(plan.segments.begin(), plan.segments.end(), [&](const PlanSegment& segment) {
    return std::any_of(segment.actors.begin(), segment.actors.end(),
                       [&](ActorId id) { return plan.actors[id].name == actor; });
  });
}

}  // namespace

TEST_CASE("a whole step on one device is one segment") {
  ParameterStore store(0);
  const auto plan = fuse(plan_of(OneDevice(), small_dataset(8).batch(4), store));
  REQUIRE(plan.segments.size() == 1);
  CHECK(plan.segments[0].actors.size() == plan.actors.size());
}

TEST_CASE("a loader that prefetches stays alone") {
  ParameterStore store(0);
  const auto plan = fuse(plan_of(OneDevice(), small_dataset(8).batch(4).prefetch(2), store));
  REQUIRE(plan.segments.size() == 2);
  const auto& loader = segment_with(plan, "loader@0");
  CHECK(loader.actors.size() == 1);
  CHECK(loader.host != segment_with(plan, "sink@0").host);
  CHECK(plan.edges[plan.actors[loader.actors[0]].outputs[0].edge].capacity == 2);
}

TEST_CASE("replicas are cut at the collectives, and every segment of a device has the same host") {
  ParameterStore store(0);
  const Mirrored strategy({{DeviceType::cpu, 0}, {DeviceType::cpu, 1}}, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto plan = fuse(plan_of(strategy, small_dataset(8).batch(4), store));
  CHECK_NOTHROW(check_liveness(plan));
  CHECK(&segment_with(plan, "loader@0") == &segment_with(plan, "sink@0"));
  CHECK(&segment_with(plan, "loader@0") != &segment_with(plan, "optimizer.sgd_update@0"));
  for (const auto& segment : plan.segments) {
    const auto& other = segment_with(plan, segment.device.index == 0 ? "loader@0" : "loader@1");
    CHECK(segment.host == other.host);
  }
  std::set<ActorId> members;
  for (const auto& segment : plan.segments) members.insert(segment.actors.begin(), segment.actors.end());
  CHECK(members.size() == plan.actors.size());
}

TEST_CASE("split gives every actor a host of its own but lets the conductor be one") {
  ParameterStore store(0);
  const Mirrored strategy({{DeviceType::cpu, 0}, {DeviceType::cpu, 1}}, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto plan = split(plan_of(strategy, small_dataset(8).batch(4), store));
  CHECK(plan.segments.size() == plan.actors.size());
  CHECK(segment_with(plan, "conductor0").host == segment_with(plan, "conductor3").host);
  CHECK(segment_with(plan, "all_reduce0@0").host != segment_with(plan, "all_reduce0@1").host);
}
