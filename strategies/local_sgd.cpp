#include "troupe/strategies/local_sgd.hpp"

#include "troupe/actors/shard/replica_parameters.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/shards.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"

namespace troupe {

namespace {

constexpr const char* kLocalSgd = "local_sgd";

/// Adds a local shard, the actor that holds a worker's copy of group `number` of the parameters, and updates it for
/// `steps` steps between two exchanges with the servers. Also adds the state of the worker's optimizer to the plan.
ActorId add_local(Plan& plan, const PlanRequest& request, const ParameterGroup& group, std::size_t number,
                  const Replica& worker, std::int64_t steps, bool weighted) {
  // The suffix gives the worker's copies of parameters and optimizer state names of their own.
  const auto suffix = "/worker" + std::to_string(worker.number);
  const auto place = host_side(worker.place);
  ReplicaUpdate update{update_graph(request.spec.optimizer, request.spec.seed, group.parameters, suffix, weighted), {}};
  for (const auto& parameter : group.parameters) update.parameters.push_back(parameter.name + suffix);
  add_state(plan, update.update, {}, place.device);
  const auto name = "local@" + std::to_string(worker.number) + "." + std::to_string(number);
  return add_local_shard(plan, name, place, worker.number, std::move(update), steps);
}

}  // namespace

LocalSgd::LocalSgd(std::vector<Place> workers, const std::vector<Place>& servers, LocalSgdOptions options,
                   ServerOptions server_options)
    : Strategy(std::move(workers)),
      servers_(host_places(kLocalSgd, servers)),
      options_(std::move(options)),
      sharding_(std::move(server_options.sharding)) {
  if (options_.local_steps < 1)
    throw Error(kLocalSgd, "needs at least one local step, not " + std::to_string(options_.local_steps));
  if (server_options.gradient_actor)
    throw Error(kLocalSgd, "sends no gradients, so it has no use for an actor on their way");
  if (server_options.hook != nullptr) throw Error(kLocalSgd, "sends no gradients, so it has no use for a hook of them");
}

Plan LocalSgd::training_plan(const PlanRequest& request) const {
  const int workers = num_replicas_in_sync();
  auto plan = empty_plan(request, workers);
  const auto batches = add_batches(plan, request, kLocalSgd, workers);
  // A worker's part of a batch has more than half as many rows as the mean part; see ShardUpdate::take_part().
  const SplitOptions split{.whole_batches = workers == 1, .weights = 2.0 * workers};
  auto step = split_training(request.spec, request.data.fields(), on_servers(sharding_, servers_.size()), split);
  if (step.weighted && request.spec.optimizer.accumulated_steps() > 1)
    throw Error("loss",
                "divides by the weights of a batch, of which each worker has a part, but the optimizer accumulates the "
                "gradients of several batches; divide by rows (MeanOver::rows), or use Mirrored");
  for (auto& group : step.groups) group.update = update_graph(options_.outer, request.spec.seed, group.parameters);
  add_parameters(plan, step);
  const auto shards = add_shards(plan, step, servers_, {.rule = ConsistencyRule::synchronous(workers)}, true);
  std::vector<std::vector<ActorId>> locals(shards.size());
  for (int w = 0; w < workers; ++w) {
    const auto worker = replica_at(w);
    std::vector<OutputRef> parameters;
    for (std::size_t g = 0; g < shards.size(); ++g) {
      locals[g].push_back(add_local(plan, request, step.groups[g], g, worker, options_.local_steps, step.weighted));
      parameters.push_back({locals[g].back(), 0});
    }
    const auto outputs = add_worker(plan, request, step, batches, parameters, worker);
    for (std::size_t g = 0; g < shards.size(); ++g) {
      plan.connect(batches, 2 * w + 1, locals[g].back());
      plan.connect(outputs.gradients[g], locals[g].back());
      plan.connect(shards[g], w, locals[g].back());
    }
  }
  for (std::size_t g = 0; g < shards.size(); ++g) {
    for (const auto local : locals[g]) plan.connect(local, 1, shards[g]);
    for (const auto local : locals[g]) plan.connect(local, 2, shards[g]);
  }
  return plan;
}

}  // namespace troupe
