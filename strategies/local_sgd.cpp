#include "troupe/strategies/local_sgd.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/local_shard.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

namespace {

/// Behind the names of parameters: those of a worker.
std::string suffix_of(int worker) {
  return "/worker" + std::to_string(worker);
}

/// What the update of a worker keeps beside its parameters.
void add_state(Plan& plan, const Graph& update, const Place& place) {
  for (const auto id : update.sources(kParameter)) {
    const auto& node = update.producer(id);
    if (node.trainable) continue;
    PlanParameter state;
    state.ref.name = node.name;
    state.info = update.info(id);
    state.device = host_side(place).device;
    state.initializer = node.initializer;
    plan.add_parameter(std::move(state));
  }
}

}  // namespace

LocalSgd::LocalSgd(std::vector<Place> workers, std::vector<Place> servers, LocalSgdOptions options)
    : ShardedStrategy("local_sgd", workers, std::move(servers),
                      ConsistencyRule::synchronous(static_cast<int>(workers.size()))),
      options_(std::move(options)) {
  if (options_.local_steps < 1)
    throw Error("local_sgd", "needs at least one local step, not " + std::to_string(options_.local_steps));
}

Plan LocalSgd::training_plan(const PlanRequest& request) const {
  if (has_gradient_actor()) throw Error("local_sgd", "sends no gradients, so it has no use for an actor on their way");
  if (gradient_hook() != nullptr) throw Error("local_sgd", "sends no gradients, so it has no use for a hook of them");
  auto plan = empty_plan(request);
  auto split_step = split(request);
  for (auto& group : split_step.groups)
    group.update = update_graph(options_.outer, request.spec.seed, group.parameters);
  const auto batches = add_batches(plan, request);
  add_parameters(plan, split_step);
  const auto shards = add_shards(plan, split_step, true);
  std::vector<std::vector<ActorId>> locals(shards.size());
  for (int w = 0; w < workers(); ++w) {
    const auto place = host_side(places()[static_cast<std::size_t>(w)]);
    std::vector<OutputRef> parameters;
    for (std::size_t g = 0; g < shards.size(); ++g) {
      const auto& trained = split_step.groups[g].parameters;
      const auto update = update_graph(request.spec.optimizer, request.spec.seed, trained, suffix_of(w));
      LocalShardOptions local{update, {}, options_.local_steps};
      for (const auto& parameter : trained) local.parameters.push_back(parameter.name + suffix_of(w));
      add_state(plan, update, place);
      locals[g].push_back(
          add_local_shard(plan, "local@" + std::to_string(w) + "." + std::to_string(g), place, w, local));
      parameters.push_back({locals[g].back(), 0});
    }
    const auto gradients = add_worker(plan, request, split_step, batches, parameters, w);
    for (std::size_t g = 0; g < shards.size(); ++g) {
      plan.connect(batches, 2 * w + 1, locals[g].back());
      plan.connect(gradients.gradients[g], locals[g].back());
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
