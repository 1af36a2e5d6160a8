#pragma once

#include <compare>
#include <string>

#include "troupe/ops/core/device.hpp"

namespace troupe {

/// The place where an actor runs: a device of one of the processes that share a plan. Several replicas may share a
/// place.
struct Place {
  int process = 0;
  Device device;

  auto operator<=>(const Place&) const = default;
};

/// True for a CPU device, which computes in the host's memory.
inline bool is_host(Device device) {
  return device.type == DeviceType::cpu;
}

/// The place of the actors of a replica that run on the host, such as loader and sink: `place` itself if it is a CPU
/// device, else the CPU device of the same number in the same process.
inline Place host_side(const Place& place) {
  return is_host(place.device) ? place : Place{place.process, {DeviceType::cpu, place.device.index}};
}

/// Returns the name of the device, such as `cpu:0`. The process number precedes it unless the process is 0: `1/cpu:0`.
inline std::string to_string(const Place& place) {
  return (place.process == 0 ? "" : std::to_string(place.process) + "/") + to_string(place.device);
}

}  // namespace troupe
