#pragma once

#include "troupe/strategies/strategy.hpp"

namespace troupe {

/// Everything on one device.
class OneDevice final : public Strategy {
 public:
  explicit OneDevice(Device device = {}) : Strategy({device}) {}

  std::string name() const override { return "one_device"; }
  Plan training_plan(const PlanRequest& request) const override;
};

}  // namespace troupe
