#pragma once

#include <optional>
#include <string>

#include "troupe/ops/core/backend.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/skip.hpp"

namespace troupe::testing {

/// `cuda:index`; nothing if the machine has fewer GPUs, and the test case counts as skipped.
inline std::optional<Device> gpu(int index = 0) {
  const auto count = device_count(DeviceType::cuda);
  if (index < count) return Device{DeviceType::cuda, index};
  skip("cuda:" + std::to_string(index) + " is needed, this machine has " + std::to_string(count) + " GPUs");
  return std::nullopt;
}

}  // namespace troupe::testing
