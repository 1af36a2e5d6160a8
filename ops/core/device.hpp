#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The kinds of devices. `test` is for tests, which register a backend for it.
enum class DeviceType : std::uint8_t { cpu, cuda, test };
inline constexpr std::size_t kDeviceTypes = 3;

/// `cpu`, `cuda` or `test`.
std::string_view name_of(DeviceType type);

/// A place where ops run. A logical CPU device `cpu:i` is one thread, not one socket.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  auto operator<=>(const Device&) const = default;
};

/// `cpu:0`.
std::string to_string(const Device& device);

/// The device that prints as `text`. Throws Error if there is none.
Device parse_device(std::string_view text);
/// Devices separated by commas, one of them several times by a factor: `cpu:1,cuda:0*2` are three. Throws Error that
/// quotes what it cannot read.
std::vector<Device> parse_devices(std::string_view text);

}  // namespace troupe
