#include "troupe/actors/system/default_devices.hpp"

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("the devices to train on are all GPUs, or else the cores") {
  const auto found = default_devices(3);
  if (gpus().empty()) {
    REQUIRE(found.size() == 3);
    CHECK(found[2] == Device{DeviceType::cpu, 2});
  } else {
    CHECK(found == gpus());
  }
  CHECK(gpus().size() == static_cast<std::size_t>(device_count(DeviceType::cuda)));
  CHECK((has_backend(DeviceType::cuda) || gpus().empty()));
}
