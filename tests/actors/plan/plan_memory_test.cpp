#include "troupe/actors/plan/plan_memory.hpp"

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Plan plan_of_replicas(const std::vector<Place>& places, const Dataset& data, Grain grain) {
  return in_grain(Mirrored(places).training_plan({small_spec(), data, 0, {names::kLoss, names::kMagnitude}}), grain);
}

/// On the host and on all devices. The devices come first: that waits for their work, which may hold host memory.
std::size_t bytes_in_use() {
  const auto on_devices = test_device_bytes_in_use();
  return on_devices + cpu_allocator()->bytes_in_use();
}

}  // namespace

TEST_CASE("a spawned plan takes the memory that was predicted") {
  for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
    const auto data = small_dataset(64).batch(32);
    const auto before = cpu_allocator()->bytes_in_use();
    auto plan = plan_of_replicas(two_places(), data, grain);
    const auto predicted = memory_of(plan);
    CHECK(predicted.staging == 0);
    auto runtime = scheduled_runtime(1);
    SpawnedPlan spawned(runtime, std::move(plan), context_for(data));
    CHECK(cpu_allocator()->bytes_in_use() - before == predicted.total());
  }
}

TEST_CASE("a plan on devices takes the memory that was predicted there and on the host, staging included") {
  const std::vector<Place> places{{0, test_device(0)}, {0, test_device(1)}};
  for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
    const auto data = small_dataset(64).batch(32);
    const auto before = bytes_in_use();
    auto plan = plan_of_replicas(places, data, grain);
    const auto predicted = memory_of(plan);
    CHECK(predicted.staging > 0);
    Runtime runtime({.workers = 2, .cpu_devices = 2});
    SpawnedPlan spawned(runtime, std::move(plan), context_for(data));
    spawned.start({0, 2});
    spawned.wait();
    CHECK(bytes_in_use() - before == predicted.total());
  }
}
