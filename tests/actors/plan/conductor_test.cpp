#include "troupe/actors/plan/conductor.hpp"

#include <algorithm>

#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Every rank has two tensors a step, which are reduced; sinks write down the sums.
Plan two_collectives(int ranks, std::vector<std::vector<float>>& record,
                     const std::shared_ptr<std::vector<std::string>>& order) {
  Plan plan;
  record.assign(static_cast<std::size_t>(ranks), {});
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({0, {DeviceType::cpu, rank}});
  Conductor conductor(plan, "sums", places);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto source = plan.add(counting_source("source" + std::to_string(rank), 1000));
    plan.actors[source].place = places[rank];
    for (int index = 0; index < 2; ++index) {
      auto bucket = function_actor("bucket", 1, [=](const Firing& firing) {
        firing.outputs[0].mutable_data<float>()[0] =
            firing.inputs[0].data<float>()[0] + static_cast<float>(10 * rank + index);
        order->push_back("bucket");
      });
      bucket.place = places[rank];
      const auto made = plan.add(bucket);
      plan.connect(source, 0, made);
      const auto reduced = conductor.add_all_reduce(index, rank, {Shape{2}, DType::float32});
      plan.connect(made, 0, reduced);
      auto sink = recording_sink("sink", record[rank]);
      sink.place = places[rank];
      plan.connect(reduced, 0, plan.add(sink));
    }
  }
  conductor.finish();
  return plan;
}

}  // namespace

TEST_CASE("all ranks get the sums, in the order of the plan, whatever the order in which actors run") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 3);
    std::vector<std::vector<float>> record;
    auto runtime = scheduled_runtime(seed);
    const auto plan = two_collectives(ranks, record, std::make_shared<std::vector<std::string>>());
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
    spawned.start({0, 4, 0});
    spawned.wait();
    const auto offset = 10.0F * static_cast<float>(ranks * (ranks - 1)) / 2.0F;
    for (auto sums : record) {
      std::sort(sums.begin(), sums.end());
      std::vector<float> expected;
      for (int step = 0; step < 4; ++step)
        for (int index = 0; index < 2; ++index) expected.push_back(static_cast<float>(ranks * (step + index)) + offset);
      std::sort(expected.begin(), expected.end());
      CHECK(sums == expected);
    }
  }
}

TEST_CASE("a rank that fails fails all, and the run drains") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<std::vector<float>> record;
    auto plan = two_collectives(2, record, std::make_shared<std::vector<std::string>>());
    const auto bucket = std::find_if(plan.actors.begin(), plan.actors.end(), [](const PlanActor& actor) {
      return actor.name == "bucket" && actor.place.device.index == 1;
    });
    bucket->make_task = function_task([](const Firing& firing) {
      if (firing.step == 3) throw Error("bucket", "leaks");
    });
    auto runtime = scheduled_runtime(seed);
    SpawnedPlan spawned(runtime, seed % 2 == 0 ? split(plan) : fuse(plan));
    spawned.start({0, 1000, 0});
    CHECK_THROWS_WITH(spawned.wait(), Contains("[bucket] leaks (op bucket, step 3"));
  }
}

TEST_CASE("a collective that not all ranks know is refused") {
  Plan plan;
  Conductor conductor(plan, "sums", {{}, {}});
  conductor.add_all_reduce(0, 0, {Shape{2}, DType::float32});
  CHECK_THROWS_AS(conductor.finish(), Error);
}
