#include "troupe/strategies/one_device.hpp"

namespace troupe {

Plan OneDevice::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  const auto unchanged = [](std::span<const Value> gradients) {
    return std::vector<Value>(gradients.begin(), gradients.end());
  };
  add_replica(plan, request, training_graph(request.spec, request.data.fields(), unchanged), 0);
  return plan;
}

}  // namespace troupe
