#pragma once

#include <optional>
#include <string>

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::testing {

/// `cuda:index`; nothing, with a line that says so, where there are not so many GPUs.
inline std::optional<Device> gpu(int index = 0) {
  const auto count = device_count(DeviceType::cuda);
  if (index < count) return Device{DeviceType::cuda, index};
  WARN("skipped: cuda:" + std::to_string(index) + " is needed, this machine has " + std::to_string(count) + " GPUs");
  return std::nullopt;
}

}  // namespace troupe::testing
