#include "troupe/strategies/local_sgd.hpp"

#include <algorithm>

#include "troupe/actors/shard/replica_parameters.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/strategies/step/separable_update.hpp"
#include "troupe/strategies/step/shards.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"

namespace troupe {

namespace {

constexpr const char* kLocalSgd = "local_sgd";

/// Throws Error if the optimizers freeze or average parameters that they cannot freeze or average.
void expect_common(const Optimizer& inner, const Optimizer& outer, const SplitTraining& step) {
  if (inner.averages())
    throw Error(kLocalSgd,
                "the optimizer averages the parameters of each worker, not the common parameters; give averaging() to "
                "the optimizer LocalSgdOptions::outer");
  for (const auto& parameter : step.parameters)
    if (!outer.trains(parameter.name))
      throw Error(kLocalSgd, "the outer optimizer freezes '" + parameter.name +
                                 "', which the workers train; give frozen() to the optimizer of the trainer");
}

/// Returns the update by the outer optimizer with other names of its states, `NAME/outer/STATE`: their numbers are
/// those of changes of parameters, not of gradients. The average of a parameter keeps its name.
Graph with_outer_states(const Graph& update) {
  std::vector<ValueId> averages;
  for (const auto& node : update.nodes())
    if (node.is(kAverage)) averages.insert(averages.end(), node.inputs.begin(), node.inputs.begin() + 2);
  NodeChanges changes(update);
  for (const auto id : update.sources(kParameter)) {
    auto state = update.producer(id);
    if (state.trainable || std::ranges::find(averages, id) != averages.end()) continue;
    state.name.insert(std::min(state.name.find('/'), state.name.size()), "/outer");
    changes.replace(update.values()[id].node, std::move(state));
  }
  return changes.finish();
}

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
  expect_common(request.spec.optimizer, options_.outer, step);
  const auto outer = options_.outer.of_trainer(request.spec.trainer);
  for (auto& group : step.groups)
    group.update = with_outer_states(update_graph(outer, request.spec.seed, group.parameters));
  expect_separable(step, "outer optimizer");
  add_parameters(plan, step);
  const ShardOptions outer_updates{
      .rule = ConsistencyRule::synchronous(workers), .counts_updates = true, .steps_per_update = options_.local_steps};
  const auto shards = add_shards(plan, step, servers_, outer_updates, true);
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
  order_parameters(plan, step);
  return plan;
}

}  // namespace troupe
