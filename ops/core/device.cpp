#include "troupe/ops/core/device.hpp"

#include <charconv>

#include "troupe/ops/core/error.hpp"

namespace troupe {

std::string_view name_of(DeviceType type) {
  constexpr std::string_view kNames[kDeviceTypes] = {"cpu", "cuda", "test"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string to_string(const Device& device) {
  return std::string(name_of(device.type)) + ":" + std::to_string(device.index);
}

Device parse_device(std::string_view text) {
  const auto colon = text.find(':');
  for (std::size_t i = 0; i < kDeviceTypes && colon != std::string_view::npos; ++i) {
    Device device{static_cast<DeviceType>(i), 0};
    if (text.substr(0, colon) != name_of(device.type)) continue;
    const auto* end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data() + colon + 1, end, device.index);
    if (fault == std::errc() && stop == end && device.index >= 0) return device;
  }
  throw Error("device", "'" + std::string(text) + "' is not a device such as cpu:0");
}

}  // namespace troupe
