#include "troupe/actors/segment/segment_streams.hpp"

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Plan four_segments() {
  Plan plan;
  const Place place{0, test_device(0)};
  plan.segments = {{.name = "a", .place = place, .actors = {0}, .stream = 3},
                   {.name = "b", .place = place, .actors = {1, 2}, .stream = 3},
                   {.name = "c", .place = place, .actors = {3}, .stream = 4},
                   {.name = "d", .place = place, .actors = {4}}};
  return plan;
}

/// x + 1 + 1 + ... on a test device.
Plan chain_on_device(int ops, std::int64_t steps, std::vector<float>& record) {
  GraphBuilder builder;
  auto x = builder.input("x", {2});
  const auto one = builder.constant(Tensor::from<float>({2}, {1.0F, 1.0F}));
  for (int i = 0; i < ops; ++i) x = add(x, one);
  builder.output("y", x);
  Plan plan;
  const auto source = plan.add(counting_source("source", steps));
  const auto outputs =
      lower(plan, std::move(builder).build(), {.place = {0, test_device(0)}, .inputs = {{"x", {source, 0}}}});
  plan.connect(outputs.at("y"), plan.add(recording_sink("sink", record)));
  return split(plan);
}

/// Events that were recorded or waited for in a run.
std::size_t events_of_run(int ops, std::int64_t steps, bool share) {
  std::vector<float> record;
  auto plan = chain_on_device(ops, steps, record);
  if (!share)
    for (auto& segment : plan.segments) segment.stream = kNone;
  const Runtime runtime({.workers = 2, .cpu_devices = 1, .own_threads = false});
  SpawnedPlan spawned(runtime, plan);
  const auto before = test_device_events();
  spawned.start({0, steps});
  spawned.wait({.stall_limit = patience()});
  CHECK(record == counted(0, steps, static_cast<float>(ops)));
  return test_device_events() - before;
}

std::size_t events_of_ten_steps(int ops, bool share) {
  return events_of_run(ops, 20, share) - events_of_run(ops, 10, share);
}

}  // namespace

TEST_CASE("segments get the stream that they share, or one of their own") {
  const auto plan = four_segments();
  const std::vector<std::int32_t> all{0, 1, 2, 3};
  SegmentStreams streams(plan, all);
  const auto shared = streams.of(plan.segments[0]);
  CHECK(streams.of(plan.segments[1]) == shared);
  CHECK(streams.of(plan.segments[2]) != shared);
  CHECK(streams.of(plan.segments[3]) != streams.of(plan.segments[3]));
  CHECK(streams.share(0, 2));
  CHECK(streams.share(1, 2));
  CHECK_FALSE(streams.share(2, 3));
  CHECK_FALSE(streams.share(4, 4));
  CHECK_FALSE(streams.share(0, 9));
}

TEST_CASE("ops that share a stream need no events between them") {
  const auto of_three = events_of_ten_steps(3, true);
  CHECK(of_three > 0);
  CHECK(events_of_ten_steps(12, true) == of_three);
  // A record and a wait for the tensor, and for the slot.
  CHECK(events_of_ten_steps(12, false) - events_of_ten_steps(3, false) >= 9 * 10 * 4);
}
