#include "troupe/actors/plan/grain.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "troupe/actors/plan/liveness.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Plan plan_of(const Strategy& strategy, const Dataset& data) {
  const auto spec = small_spec();
  return strategy.training_plan({spec, data, 0, {names::kLoss}});
}

}  // namespace

TEST_CASE("a whole step on one device is one segment") {
  const auto plan = fuse(plan_of(OneDevice(), small_dataset(8).batch(4)));
  REQUIRE(plan.segments.size() == 1);
  CHECK(plan.segments[0].actors.size() == plan.actors.size());
}

TEST_CASE("a loader that prefetches stays alone") {
  const auto plan = fuse(plan_of(OneDevice(), small_dataset(8).batch(4).prefetch(2)));
  REQUIRE(plan.segments.size() == 2);
  const auto& loader = segment_with(plan, "loader@0");
  CHECK(loader.actors.size() == 1);
  CHECK(loader.executor != segment_with(plan, "sink@0").executor);
  CHECK(plan.edges[plan.actors[loader.actors[0]].outputs[0].edge].capacity == 2);
}

TEST_CASE("replicas are cut at the collectives, and every segment of a place has the same executor") {
  const Mirrored strategy(two_places(), {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto plan = fuse(plan_of(strategy, small_dataset(8).batch(4)));
  CHECK_NOTHROW(check_liveness(plan));
  CHECK(&segment_with(plan, "loader@0") == &segment_with(plan, "sink@0"));
  CHECK(&segment_with(plan, "loader@0") != &segment_with(plan, "optimizer.sgd_update@0"));
  for (const auto& segment : plan.segments) {
    const auto& other = segment_with(plan, segment.place.device.index == 0 ? "loader@0" : "loader@1");
    CHECK(segment.executor == other.executor);
  }
  std::set<ActorId> members;
  for (const auto& segment : plan.segments) members.insert(segment.actors.begin(), segment.actors.end());
  CHECK(members.size() == plan.actors.size());
}

TEST_CASE("split gives every actor its own executor but the conductors a common one") {
  const Mirrored strategy(two_places(), {.first_bucket_bytes = 1, .bucket_bytes = 1});
  const auto plan = split(plan_of(strategy, small_dataset(8).batch(4)));
  CHECK(plan.segments.size() == plan.actors.size());
  CHECK(segment_with(plan, "conductor0").executor == segment_with(plan, "conductor3").executor);
  CHECK(segment_with(plan, "all_reduce0@0").executor != segment_with(plan, "all_reduce0@1").executor);
}

TEST_CASE("a plan of more actors than can be analyzed is refused, and one of 9,000 is grouped like a small one") {
  const auto chain_of = [](int length) {
    std::vector<float> record;
    return chain_plan(length, 1, record);
  };
  const auto grouped = chain(chain_of(9'000));
  CHECK(grouped.segments.size() == chain(chain_of(10)).segments.size());
  for (const auto grain : {Grain::per_op, Grain::chains})
    CHECK_THROWS_WITH(in_grain(chain_of(32'768), grain), Contains("[plan] has 32770 actors") && Contains("32768"));
}
