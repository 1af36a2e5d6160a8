#include "troupe/strategies/one_device.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/passes/passes.hpp"

namespace troupe {

Plan OneDevice::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request, 1);
  const auto graph = training_graph(request.spec, request.data.fields(), unreduced);
  add_replica(plan, request, without_all_reduce(graph), replica_at(0));
  return plan;
}

}  // namespace troupe
