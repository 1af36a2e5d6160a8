#pragma once

#include <compare>
#include <string>

namespace troupe {

enum class DeviceType { cpu, cuda };

/// A place where ops run. A logical CPU device `cpu:i` is one thread, not one socket.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  auto operator<=>(const Device&) const = default;
};

/// `cpu:0`.
inline std::string to_string(const Device& device) {
  return (device.type == DeviceType::cpu ? "cpu:" : "cuda:") + std::to_string(device.index);
}

}  // namespace troupe
