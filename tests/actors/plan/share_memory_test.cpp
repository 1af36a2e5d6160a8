#include "troupe/actors/plan/share_memory.hpp"

#include <algorithm>

#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const TensorInfo kVector{Shape{2048}, DType::float32};

PlanActor large_actor(const std::string& name) {
  auto actor = function_actor(name, 1, [](const Firing& firing) {
    for (std::size_t i = 0; i < 2048; ++i)
      firing.outputs[0].mutable_data<float>()[i] =
          firing.inputs[0].data<float>()[i % firing.inputs[0].data<float>().size()] + 1.0F;
  });
  actor.outputs[0].info = kVector;
  return actor;
}

/// source -> five large steps -> sink, which also sends a token back to the source's first reader if `closed`.
Plan large_chain(bool closed, std::vector<float>& record) {
  Plan plan;
  auto last = plan.add(counting_source("source", 6));
  const auto first = last + 1;
  for (int i = 0; i < 5; ++i) {
    const auto next = plan.add(large_actor("large" + std::to_string(i)));
    plan.connect(last, 0, next);
    last = next;
  }
  auto end = recording_sink("end", record);
  end.outputs.push_back({.info = {Shape{1}, DType::float32}});
  const auto sink = plan.add(end);
  plan.connect(last, 0, sink);
  if (closed)
    plan.connect(plan.edge_of(sink, 0, 1, 1), first, {Shape{1}, DType::float32}, 0);
  else
    plan.actors[sink].outputs.clear();
  return plan;
}

std::size_t buffers_used(const Plan& plan) {
  return plan.shared_buffers.size();
}

}  // namespace

TEST_CASE("edges share memory only where a step cannot overtake the one before") {
  std::vector<float> record;
  const auto open = split(large_chain(false, record));
  // Two steps may be in flight at once without the token, and neighbors are always full together.
  CHECK(buffers_used(open) == 5);
  const auto closed = split(large_chain(true, record));
  CHECK(buffers_used(closed) == 2);
  for (int i = 0; i + 1 < 5; ++i) {
    const auto edge = [&](int number) {
      return closed.edges[closed.actors[static_cast<std::size_t>(number) + 1].outputs[0].edge];
    };
    CHECK(edge(i).shared_buffer != edge(i + 1).shared_buffer);
  }
}

TEST_CASE("actors that share memory compute the same results for any order in which they run") {
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    std::vector<float> record;
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan plan(runtime, split(large_chain(true, record)));
    CHECK(plan.plan().shared_buffers.size() == 2);
    plan.start({0, 100, 0});
    plan.wait();
    CHECK(record == std::vector<float>{5, 6, 7, 8, 9, 10});
  }
}

TEST_CASE("edges that are small, have more slots, or belong to external actors are left alone") {
  std::vector<float> record;
  auto plan = large_chain(true, record);
  plan.edges[plan.actors[2].outputs[0].edge].capacity = 2;
  plan.actors[4].role = ActorRole::external;
  plan = split(std::move(plan));
  CHECK(plan.edges[plan.actors[0].outputs[0].edge].shared_buffer == kNone);
  CHECK(plan.edges[plan.actors[2].outputs[0].edge].shared_buffer == kNone);
  CHECK(plan.edges[plan.actors[3].outputs[0].edge].shared_buffer == kNone);
  CHECK(plan.edges[plan.actors[4].outputs[0].edge].shared_buffer == kNone);
}

TEST_CASE("the parts of a pack are computed in their places of it where they come from other segments") {
  const auto plan =
      Mirrored(two_places()).training_plan({small_spec(), small_dataset(24576).batch(12288), 0, {names::kLoss}});
  for (const auto grain : {Grain::per_op, Grain::chains}) {
    const auto grouped = in_grain(plan, grain);
    int parts = 0;
    for (const auto& actor : grouped.actors) {
      if (actor.outputs.empty() || actor.outputs[0].pack_offsets.empty()) continue;
      const auto& pack = grouped.edges[actor.outputs[0].edge];
      REQUIRE(pack.shared_buffer != kNone);
      for (std::size_t i = 0; i < actor.inputs.size(); ++i) {
        const auto& part = grouped.edges[actor.inputs[i].edge];
        // The magnitude, a scalar, may be computed in the segment of the pack.
        if (part.info.shape.rank() == 0) continue;
        CHECK(part.shared_buffer == pack.shared_buffer);
        CHECK(part.shared_offset == actor.outputs[0].pack_offsets[i]);
        ++parts;
      }
    }
    CHECK(parts == 8);
  }
}
