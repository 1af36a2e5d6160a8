#include "troupe/actors/plan/share_streams.hpp"

#include <algorithm>
#include <string_view>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

// Too large to be computed beside another op.
constexpr std::int64_t kLarge = std::int64_t{1} << 16;

/// a, b, then c and d which both read b, then their sum; all on `device`.
Plan fork(Device device, std::vector<float>& record) {
  GraphBuilder builder;
  const auto b = scale(scale(builder.input("x", {kLarge}), 2.0), 3.0);
  builder.output("y", add(scale(b, 5.0), scale(b, 7.0)));
  Plan plan;
  auto source = counting_source("source", 1);
  source.outputs[0].info = {Shape{kLarge}, DType::float32};
  const auto from = plan.add(source);
  const auto ops = lower(plan, std::move(builder).build(), {.place = {0, device}, .inputs = {{"x", {from, 0}}}});
  plan.connect(ops.at("y"), plan.add(recording_sink("sink", record)));
  return plan;
}

bool any_shares(const Plan& plan) {
  return std::ranges::any_of(plan.segments, [](const PlanSegment& segment) { return segment.stream != kNone; });
}

Plan mirrored_per_op(const std::vector<Place>& places) {
  const auto spec = small_spec();
  const auto data = small_dataset(8).batch(4);
  const Mirrored strategy(places, {.first_bucket_bytes = 1, .bucket_bytes = 1});
  return split(strategy.training_plan({spec, data, 0, {names::kLoss}}));
}

}  // namespace

TEST_CASE("ops that follow each other share a stream, branches have streams of their own") {
  std::vector<float> record;
  const auto plan = split(fork(test_device(0), record));
  const auto stream = [&](const char* actor) { return segment_with(plan, actor).stream; };
  CHECK(stream("scale@0") == 0);
  CHECK(stream("scale_2@0") == 0);
  CHECK(stream("scale_3@0") == 0);
  CHECK(stream("scale_4@0") == kNone);
  CHECK(stream("add@0") == kNone);
  CHECK(stream("source") == kNone);
  const auto first = segment_with(plan, "scale@0");
  for (const auto* actor : {"scale_2@0", "scale_3@0", "scale_4@0", "add@0"})
    CHECK(segment_with(plan, actor).executor == first.executor);
}

TEST_CASE("in the memory of the host there are no streams to share") {
  std::vector<float> record;
  const auto plan = split(fork({}, record));
  CHECK_FALSE(any_shares(plan));
  CHECK(segment_with(plan, "scale@0").executor != segment_with(plan, "scale_2@0").executor);
}

TEST_CASE("what shares a stream lies on one place; sources and collectives do not") {
  const auto plan = mirrored_per_op({{0, test_device(0)}, {0, test_device(1)}});
  REQUIRE(any_shares(plan));
  for (const auto& segment : plan.segments) {
    if (segment.stream == kNone) continue;
    const auto& actor = plan.actors[segment.actors.front()];
    CHECK(actor.role == ActorRole::op);
    for (const auto& other : plan.segments)
      if (other.stream == segment.stream) {
        CHECK(other.executor == segment.executor);
        CHECK(other.place == segment.place);
      }
  }
}

TEST_CASE("where a device may wait for what another process launches, every segment has a stream of its own") {
  std::vector<float> record;
  auto plan = fork(test_device(0), record);
  plan.communicators.push_back({"within", {0, 0}, AllReduceAlgorithm::direct, {test_device(0), test_device(1)}});
  CHECK(any_shares(split(plan)));
  plan.communicators.push_back({"on hosts", {0, 1}});
  CHECK(any_shares(split(plan)));
  plan.communicators.push_back({"across", {0, 1}, AllReduceAlgorithm::direct, {test_device(0), test_device(0)}});
  CHECK_FALSE(any_shares(split(plan)));
}

TEST_CASE("grouping again decides anew which segments share a stream") {
  std::vector<float> record;
  const auto plan = split(fork(test_device(0), record));
  CHECK(plan == split(chain(plan)));
  CHECK_FALSE(any_shares(fuse(plan)));
  CHECK(hash_of(plan) != hash_of([&] {
          auto apart = plan;
          for (auto& segment : apart.segments) segment.stream = kNone;
          return apart;
        }()));
}
