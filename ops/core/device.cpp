#include "troupe/ops/core/device.hpp"

#include <algorithm>
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
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, device.index);
    if (error == std::errc() && stop == end && device.index >= 0) return device;
  }
  throw Error("device", "'" + std::string(text) + "' is not a device such as cpu:0");
}

namespace {

/// Removes the factor from an item such as cpu:0*2 and returns it; 1 for an item without a factor. Throws Error if the
/// factor is not a number from 1 to 9,999.
std::size_t take_factor(std::string_view& item) {
  const auto star = item.find('*');
  if (star == std::string_view::npos) return 1;
  constexpr std::size_t kMaxFactor = 9999;
  std::size_t factor = 0;
  const auto* end = item.data() + item.size();
  const auto [stop, error] = std::from_chars(item.data() + star + 1, end, factor);
  if (error != std::errc() || stop != end || factor < 1 || factor > kMaxFactor)
    throw Error("devices", "'" + std::string(item) + "' needs a number from 1 to " + std::to_string(kMaxFactor) +
                               " after the '*'");
  item = item.substr(0, star);
  return factor;
}

}  // namespace

std::vector<Device> parse_devices(std::string_view text) {
  std::vector<Device> devices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    auto item = text.substr(begin, end - begin);
    const auto factor = take_factor(item);
    devices.insert(devices.end(), factor, parse_device(item));
    begin = end + 1;
  }
  return devices;
}

}  // namespace troupe
