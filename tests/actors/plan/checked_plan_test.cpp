#include "troupe/actors/plan/checked_plan.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a checked plan is complete and live") {
  std::vector<float> record;
  CHECK_THROWS_WITH(CheckedPlan(chain_plan(1, 1, record)), Contains("[plan] has no segments"));
  auto unread = split(chain_plan(1, 1, record));
  unread.edges[0].consumers.clear();
  CHECK_THROWS_WITH(CheckedPlan(unread), Contains("[plan] edge 'source' has no consumer"));
  Plan loop;
  const auto source = loop.add(counting_source("source", 1));
  const auto self = loop.add(function_actor("self", 1, [](const Firing&) {}));
  loop.connect(source, 0, self);
  loop.connect(self, 0, self);
  CHECK_THROWS_WITH(CheckedPlan(split(loop)), Contains("no token lies on this cycle: 'self' --self--> 'self'"));
}

TEST_CASE("a checked plan has the layout of every segment") {
  std::vector<float> record;
  const auto plan = split(chain_plan(2, 1, record, 3));
  const CheckedPlan checked(plan);
  CHECK(*checked == plan);
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const auto expected = lay_out(plan, plan.segments[i]);
    const auto& layout = checked.layout(static_cast<std::int32_t>(i));
    CHECK(layout.ports == expected.ports);
    CHECK(layout.outputs.size() == expected.outputs.size());
    CHECK(layout.tasks.size() == 1);
    CHECK(layout.slot_bytes(plan) == expected.slot_bytes(plan));
  }
}

TEST_CASE("a checked plan is spawned twice") {
  std::vector<float> record;
  const CheckedPlan plan(split(chain_plan(2, 4, record)));
  for (int i = 0; i < 2; ++i) {
    record.clear();
    SpawnedPlan spawned(scheduled_runtime(1), plan);
    CHECK(&spawned.plan() == &*plan);
    spawned.start({0, kForEver, 0});
    spawned.wait();
    CHECK(record == counted(0, 4, 2.0F));
  }
}
