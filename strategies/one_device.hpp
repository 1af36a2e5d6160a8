#pragma once

#include "troupe/strategies/strategy.hpp"

namespace troupe {

/// Trains on one device.
class OneDevice final : public Strategy {
 public:
  explicit OneDevice(Device device = {}) : OneDevice(Place{0, device}) {}
  explicit OneDevice(const Place& place) : Strategy({place}) {}

  Plan training_plan(const PlanRequest& request) const override;
};

}  // namespace troupe
