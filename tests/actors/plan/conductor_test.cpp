#include "troupe/actors/plan/conductor.hpp"

#include <algorithm>
#include <array>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/forwarding_communicator.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The record of the sinks of a rank: the sums of its two collectives.
using Sums = std::array<std::vector<float>, 2>;

/// Every rank has two tensors a step, step + 10 rank + index, which are reduced; sinks write down the sums.
Plan two_collectives(int ranks, std::vector<Sums>& record) {
  Plan plan;
  record.assign(static_cast<std::size_t>(ranks), {});
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({0, {DeviceType::cpu, rank}});
  Conductor conductor(plan, "sums", places);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto source = plan.add(counting_source("source" + std::to_string(rank), 1000));
    plan.actors[source].place = places[rank];
    for (int index = 0; index < 2; ++index) {
      auto bucket = function_actor("bucket" + std::to_string(10 * rank + index), 1, [=](const Firing& firing) {
        firing.outputs[0].mutable_data<float>()[0] =
            firing.inputs[0].data<float>()[0] + static_cast<float>(10 * rank + index);
      });
      bucket.place = places[rank];
      const auto made = plan.add(bucket);
      plan.connect(source, 0, made);
      const auto reduced = conductor.add(CollectiveKind::all_reduce, index, rank, {Shape{2}, DType::float32});
      plan.connect(made, 0, reduced);
      auto sink = recording_sink("sink" + std::to_string(10 * rank + index), record[rank][index]);
      sink.place = places[rank];
      plan.connect(reduced, 0, plan.add(sink));
    }
  }
  conductor.finish();
  return plan;
}

/// Writes down the first element of every tensor that it is asked to sum.
class NotingCommunicator final : public ForwardingCommunicator {
 public:
  NotingCommunicator(std::shared_ptr<Communicator> real, std::vector<float>& order)
      : ForwardingCommunicator(std::move(real)), order_(order) {}

  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    order_.push_back(parts[0].input.data<float>()[0]);
    return ForwardingCommunicator::begin(kind, parts, root);
  }

 private:
  std::vector<float>& order_;
};

/// A context whose communicator "sums" writes down in which order each rank calls it.
SpawnContext noting_context(int ranks, std::vector<std::vector<float>>& order) {
  order.assign(static_cast<std::size_t>(ranks), {});
  SpawnContext context;
  for (const auto& real : make_local_group(ranks))
    context.communicators["sums"].push_back(std::make_shared<NotingCommunicator>(real, order[real->rank()]));
  return context;
}

constexpr int kConductedSteps = 4;

/// Adds the actor `second`, which is alone in its segment, to the segment of `first`.
void join_segments(Plan& plan, const std::string& first, const std::string& second) {
  const auto segment_of = [&](const std::string& name) {
    return std::ranges::find_if(
        plan.segments, [&](const PlanSegment& segment) { return plan.actor(segment.actors.front()).name == name; });
  };
  const auto joined = segment_of(second);
  const auto actor = joined->actors.front();
  plan.segments.erase(joined);
  segment_of(first)->actors.push_back(actor);
  // Memory was shared for the segments before.
  for (auto& edge : plan.edges) edge.shared_buffer = kNone;
  plan.shared_buffers.clear();
}

}  // namespace

TEST_CASE("all ranks get the sums, in the order of the plan, for any order in which actors run") {
  for (std::uint64_t seed = 0; seed < schedules(40); ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 3);
    std::vector<Sums> record;
    std::vector<std::vector<float>> order;
    auto runtime = scheduled_runtime(seed);
    const auto plan = two_collectives(ranks, record);
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan), noting_context(ranks, order));
    spawned.start({0, kConductedSteps, 0});
    spawned.wait();
    const auto offset = 10.0F * static_cast<float>(ranks * (ranks - 1)) / 2.0F;
    for (int rank = 0; rank < ranks; ++rank) {
      Sums sums;
      std::vector<float> calls;
      for (int step = 0; step < kConductedSteps; ++step)
        for (int index = 0; index < 2; ++index) {
          sums[index].push_back(static_cast<float>(ranks * (step + index)) + offset);
          calls.push_back(static_cast<float>(step + 10 * rank + index));
        }
      CHECK(record[rank] == sums);
      CHECK(order[rank] == calls);
    }
  }
}

TEST_CASE("a conductor and the collective that it begins may share a segment") {
  for (std::uint64_t seed = 0; seed < schedules(10); ++seed) {
    std::vector<Sums> record;
    auto plan = split(two_collectives(1, record));
    join_segments(plan, "conductor0", "all_reduce0@0");
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, plan);
    spawned.start({0, kConductedSteps, 0});
    spawned.wait();
    CHECK(record[0][0] == std::vector<float>{0.0F, 1.0F, 2.0F, 3.0F});
    CHECK(record[0][1] == std::vector<float>{1.0F, 2.0F, 3.0F, 4.0F});
  }
}

TEST_CASE("a rank that fails fails all, and the run drains") {
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    std::vector<Sums> record;
    auto plan = two_collectives(2, record);
    const auto bucket = std::find_if(plan.actors.begin(), plan.actors.end(), [](const PlanActor& actor) {
      return actor.name == "bucket10" && actor.place.device.index == 1;
    });
    bucket->make_task = function_task([](const Firing& firing) {
      if (firing.step == 3) throw Error("bucket", "leaks");
    });
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
    spawned.start({0, 1000, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[bucket] leaks (op bucket10, step 3"));
  }
}

TEST_CASE("a collective that not all ranks know is refused") {
  Plan plan;
  Conductor conductor(plan, "sums", {{}, {}});
  conductor.add(CollectiveKind::all_reduce, 0, 0, {Shape{2}, DType::float32});
  CHECK_THROWS_AS(conductor.finish(), Error);
}

TEST_CASE("a gather whose result is that of another number of ranks is refused", "[plan][errors]") {
  const auto refusal = [](std::int64_t replicas) {
    Plan plan;
    Conductor conductor(plan, "moments", {{0, {DeviceType::cpu, 0}}, {0, {DeviceType::cpu, 1}}});
    for (int rank = 0; rank < 2; ++rank) {
      const auto source = plan.add(counting_source("source" + std::to_string(rank), 1));
      const auto gathered = conductor.add(CollectiveKind::all_gather, 0, rank, {Shape{replicas, 2}, DType::float32});
      plan.connect(source, 0, gathered);
    }
    try {
      conductor.finish();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(2).empty());
  CHECK(refusal(1).find("build the graph for 2 replicas") != std::string::npos);
}
