#include "troupe/ops/core/device.hpp"

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

TEST_CASE("printing and parsing a device are inverse", "[device]") {
  for (const auto& device : {Device{}, Device{DeviceType::cpu, 12}, Device{DeviceType::cuda, 3}})
    CHECK(parse_device(to_string(device)) == device);
  CHECK(to_string(Device{DeviceType::test, 1}) == "test:1");
}

TEST_CASE("invalid device names are refused", "[device]") {
  for (const auto* text : {"", "cpu", "cpu:", ":0", "gpu:0", "cpu:-1", "cpu:1x", "cpu:99999999999", "cpu: 1"})
    CHECK(contains(error_of([&] { parse_device(text); }), "[device] '" + std::string(text) + "' is not a device"));
}

}  // namespace troupe::ops_test
