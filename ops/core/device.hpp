#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The types of devices. Tests register a backend for `test`.
enum class DeviceType : std::uint8_t { cpu, cuda, test };
inline constexpr std::size_t kDeviceTypes = 3;

/// `cpu`, `cuda` or `test`.
std::string_view name_of(DeviceType type);

/// A place where ops run. A CPU device `cpu:i` is one thread, not one socket.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  auto operator<=>(const Device&) const = default;
};

/// A text such as `cpu:0`.
std::string to_string(const Device& device);

/// Reads a text such as `cpu:0`. Throws Error that quotes any other text.
Device parse_device(std::string_view text);
/// Reads devices separated by commas. A factor repeats a device: `cpu:1,cuda:0*2` gives three. Throws Error that quotes
/// the item that cannot be read.
std::vector<Device> parse_devices(std::string_view text);

}  // namespace troupe
