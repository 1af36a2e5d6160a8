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

/// The place of a replica's actors on the host (loader, sink, collectives): `place` itself if it is a CPU device, else
/// the CPU device of the same number in the same process.
inline Place host_side(const Place& place) {
  return is_host(place.device) ? place : Place{place.process, {DeviceType::cpu, place.device.index}};
}

/// Returns `cpu:0` for a place on rank 0, and `1/cpu:0` for a place on rank 1.
inline std::string to_string(const Place& place) {
  return (place.process == 0 ? "" : std::to_string(place.process) + "/") + to_string(place.device);
}

}  // namespace troupe
