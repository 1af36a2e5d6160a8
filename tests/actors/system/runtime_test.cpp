#include "troupe/actors/system/runtime.hpp"

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/system/default_devices.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a runtime has all GPUs, or a device a core, unless told otherwise") {
  CHECK(Runtime().devices() == default_devices(usable_cores()));
  const Runtime runtime({.workers = 1, .cpu_devices = 3});
  REQUIRE(runtime.devices().size() == 3);
  CHECK(to_string(runtime.devices()[2]) == "cpu:2");
}

TEST_CASE("negative numbers are refused") {
  CHECK_THROWS_AS(Runtime({.workers = -1}), Error);
  CHECK_THROWS_AS(Runtime({.cpu_devices = -1}), Error);
}

#ifdef __x86_64__
TEST_CASE("actors compute in the default floating-point mode, not in the mode that the program has set") {
  constexpr float kSmallest = 1.17549435e-38F;
  constexpr std::uint64_t kFlushes = kDefaultFloatMode | 0x8040;
  const auto before = float_mode();
  for (const bool scheduled : {true, false}) {
    set_float_mode(kFlushes);
    std::vector<float> record;
    std::uint64_t mode_after = 0;
    {
      const auto runtime = scheduled ? scheduled_runtime(1) : Runtime({.workers = 1});
      Plan plan;
      const auto source = plan.add(counting_source("source", 1));
      const auto half = plan.add(function_actor("half", 1, [](const Firing& firing) {
        const volatile float smallest = kSmallest;
        firing.outputs[0].mutable_data<float>()[0] = smallest * 0.5F;
      }));
      plan.connect(source, 0, half);
      plan.connect(half, 0, plan.add(recording_sink("sink", record)));
      SpawnedPlan spawned(runtime, split(plan));
      spawned.start({});
      spawned.wait();
      mode_after = float_mode();
    }
    set_float_mode(before);
    CHECK((mode_after & kFloatModeBits) == kFlushes);
    REQUIRE(record.size() == 1);
    CHECK(record[0] > 0.0F);
  }
}
#endif
