#include "troupe/strategies/parameter_server.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/training/split_training.hpp"

namespace troupe {

Plan ParameterServer::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  const auto split_step = split(request);
  const auto batches = add_batches(plan, request);
  add_parameters(plan, split_step);
  const auto shards = add_shards(plan, split_step, false);
  std::vector<std::vector<OutputRef>> gradients;
  for (int w = 0; w < workers(); ++w) {
    std::vector<OutputRef> parameters;
    for (const auto shard : shards) parameters.push_back({shard, w});
    gradients.push_back(add_worker(plan, request, split_step, batches, parameters, w));
  }
  for (std::size_t g = 0; g < shards.size(); ++g) {
    for (int w = 0; w < workers(); ++w) plan.connect(batches, 2 * w + 1, shards[g]);
    for (const auto& of_worker : gradients) plan.connect(of_worker[g], shards[g]);
  }
  connect_followers(plan, shards, workers());
  return plan;
}

}  // namespace troupe
