#include "troupe/strategies/parameter_server.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/row_shards.hpp"

namespace troupe {

Plan ParameterServer::training_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  const auto step = split(request, {SparseRows::looked_up, gradient_hook()});
  const auto batches = add_batches(plan, request);
  add_parameters(plan, step);
  auto shards = add_shards(plan, step, false, RowShards::count(step));
  RowShards row_shards(plan, step, servers(), shard_options(false), shards.empty());
  std::vector<WorkerOutputs> made;
  for (int w = 0; w < workers(); ++w) {
    std::vector<OutputRef> parameters;
    for (const auto shard : shards) parameters.push_back({shard, w});
    const auto rows = row_shards.add_worker(w, places()[static_cast<std::size_t>(w)]);
    made.push_back(add_worker(plan, request, step, batches, parameters, w, rows));
  }
  for (std::size_t g = 0; g < shards.size(); ++g) {
    for (int w = 0; w < workers(); ++w) plan.connect(batches, 2 * w + 1, shards[g]);
    for (int w = 0; w < workers(); ++w)
      plan.connect(on_their_way(plan, made[static_cast<std::size_t>(w)].gradients[g], w, g), shards[g]);
  }
  row_shards.connect(batches, made);
  shards.insert(shards.end(), row_shards.all().begin(), row_shards.all().end());
  connect_followers(plan, shards, workers());
  return plan;
}

}  // namespace troupe
