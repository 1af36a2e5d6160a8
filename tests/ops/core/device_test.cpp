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

TEST_CASE("devices in a list may be named several times", "[device]") {
  const Device cpu1{DeviceType::cpu, 1}, gpu0{DeviceType::cuda, 0};
  CHECK(parse_devices("cpu:1") == std::vector{cpu1});
  CHECK(parse_devices("cuda:0,cpu:1,cuda:0") == std::vector{gpu0, cpu1, gpu0});
  CHECK(parse_devices("cuda:0*2,cpu:1*1") == std::vector{gpu0, gpu0, cpu1});
}

TEST_CASE("a text that is not a list of devices is quoted", "[device]") {
  for (const auto* text :
       {"", "cpu:0,", ",cpu:0", "cpu:0*", "cpu:0*0", "cpu:0*x", "cpu:0*-1", "cpu:0*99999", "2*cpu:0"})
    CHECK(contains(error_of([&] { parse_devices(text); }), "[device"));
  CHECK(contains(error_of([] { parse_devices("cpu:0,gpu:1"); }), "'gpu:1' is not a device"));
  CHECK(contains(error_of([] { parse_devices("cpu:0*0"); }), "'cpu:0*0' needs a number from 1"));
}

}  // namespace troupe::ops_test
