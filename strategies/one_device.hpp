#pragma once

#include "troupe/strategies/mirrored.hpp"

namespace troupe {

/// A strategy with one replica, on one device.
class OneDevice final : public Mirrored {
 public:
  explicit OneDevice(Device device = {}) : OneDevice(Place{0, device}) {}
  explicit OneDevice(const Place& place) : Mirrored(std::vector{place}) {}
};

}  // namespace troupe
