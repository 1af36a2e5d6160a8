#include "troupe/actors/system/runtime.hpp"

#include "troupe/actors/system/default_devices.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

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
