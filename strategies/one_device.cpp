#include "troupe/strategies/one_device.hpp"

namespace troupe {

Plan OneDevice::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  add_replica(plan, request, training_graph(request.spec, request.data.fields(), unreduced), 0);
  return plan;
}

}  // namespace troupe
