#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The types of devices. The library has no backend for `test`; tests register one.
enum class DeviceType : std::uint8_t { cpu, cuda, test };
inline constexpr std::size_t kDeviceTypes = 3;

/// The name of a device type: `cpu`, `cuda` or `test`.
std::string_view name_of(DeviceType type);

/// A device on which ops run. A CPU device `cpu:i` stands for one thread, not for a socket.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  auto operator<=>(const Device&) const = default;
};

/// The device as text, such as `cpu:0`.
std::string to_string(const Device& device);

/// Reads a device from a text such as `cpu:0`. Throws Error that quotes the text if it does not name a device.
Device parse_device(std::string_view text);
/// Reads devices separated by commas. A factor repeats a device: `cpu:1,cuda:0*2` gives cpu:1, cuda:0 and cuda:0.
/// Throws Error that quotes the item that cannot be read.
std::vector<Device> parse_devices(std::string_view text);

}  // namespace troupe
