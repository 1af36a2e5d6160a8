#include "troupe/strategies/parameter_server.hpp"

#include <algorithm>
#include <optional>

#include "troupe/actors/plan/conductor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/step/shards.hpp"
#include "troupe/strategies/step/split_training.hpp"
#include "troupe/strategies/step/worker.hpp"
#include "troupe/transport/collective_kind.hpp"

namespace troupe {

namespace {

constexpr const char* kParameterServer = "parameter_server";
constexpr Place kRankZero{};

bool has_collective(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op->kind == OpKind::collective; });
}

}  // namespace

ParameterServer::ParameterServer(std::vector<Place> workers, const std::vector<Place>& servers,
                                 const ConsistencyRule& rule, ServerOptions options)
    : Strategy(std::move(workers)),
      servers_(host_places(kParameterServer, servers)),
      rule_(rule),
      options_(std::move(options)) {
  rule_.check();
  if (rule_.workers != num_replicas_in_sync())
    throw Error(kParameterServer, "the rule is for " + std::to_string(rule_.workers) + " workers, but there are " +
                                      std::to_string(num_replicas_in_sync()));
}

std::optional<std::int64_t> ParameterServer::steps_per_update() const {
  if (rule_.late == LateGradients::dropped && !shares_steps()) return std::nullopt;
  return 1;
}

std::set<int> ParameterServer::expendable() const {
  if (shares_steps()) return {};
  std::set<int> processes;
  for (const auto& place : places()) processes.insert(place.process);
  for (const auto& place : servers_) processes.erase(place.process);
  for (const auto& place : given_forward_places()) processes.erase(place.process);
  processes.erase(kRankZero.process);
  return processes;
}

std::vector<Place> ParameterServer::forward_places() const {
  auto kept = Strategy::forward_places();
  const auto processes = expendable();
  std::erase_if(kept, [&](const Place& place) { return processes.contains(place.process); });
  return kept.empty() ? std::vector{kRankZero} : kept;
}

OutputRef ParameterServer::add_gradient_actor(Plan& plan, const OutputRef& gradients, int worker,
                                              std::size_t shard) const {
  if (!options_.gradient_actor) return gradients;
  const auto& info = plan.actor(gradients.actor).outputs[static_cast<std::size_t>(gradients.output)].info;
  auto actor = options_.gradient_actor(info, worker);
  if (actor.outputs.size() != 1) throw Error(actor.name, "needs one input and one output, for gradients on their way");
  actor.place = host_side(places()[static_cast<std::size_t>(worker)]);
  actor.replica = worker;
  actor.name += "." + std::to_string(shard);
  const auto added = plan.add(std::move(actor));
  plan.connect(gradients, added);
  return {added, 0};
}

Plan ParameterServer::training_plan(const PlanRequest& request) const {
  const int workers = num_replicas_in_sync();
  auto plan = empty_plan(request, workers);
  const auto processes = expendable();
  plan.expendable.assign(processes.begin(), processes.end());
  // If late gradients are dropped, a shard may use the last gradients of an epoch only when it knows that no batch
  // follows. The dispatcher, which hands batches to workers, then must not wait for the use of these gradients before
  // it ends the epoch.
  const auto to_free = rule_.late == LateGradients::dropped ? Dispatch::first_free : Dispatch::until_used;
  const auto dispatch = shares_steps() ? Dispatch::parts : to_free;
  const auto batches = add_batches(plan, request, kParameterServer, workers, dispatch);
  const auto place = on_servers(options_.sharding, servers_.size());
  const bool parts = shares_steps() && workers > 1;
  const SplitOptions split{.sparse = SparseRows::looked_up,
                           .hook = options_.hook.get(),
                           .whole_batches = !parts,
                           .decides_together = parts,
                           .weights = static_cast<double>(rule_.quorum)};
  const auto step = split_training(request.spec, request.data.fields(), place, split);
  add_parameters(plan, step);
  const ShardOptions common{.rule = rule_, .shared_steps = shares_steps(), .counts_updates = !shares_steps()};
  auto shards = add_shards(plan, step, servers_, common);
  RowShards row_shards(plan, step, servers_, common);
  std::optional<Conductor> decisions;
  if (has_collective(step.worker)) decisions.emplace(plan, "decisions", places());
  std::vector<WorkerOutputs> outputs;
  for (int w = 0; w < workers; ++w) {
    std::vector<OutputRef> parameters;
    for (const auto shard : shards) parameters.push_back({shard, w});
    const auto rows = row_shards.add_worker(w, places()[static_cast<std::size_t>(w)]);
    outputs.push_back(
        add_worker(plan, request, step, batches, parameters, replica_at(w), rows, [&](Plan&, const Node&) {
          return decisions->add(CollectiveKind::all_reduce, 0, w, {Shape{}, DType::float32});
        }));
  }
  if (decisions) decisions->finish();
  for (std::size_t g = 0; g < shards.size(); ++g) {
    for (int w = 0; w < workers; ++w) plan.connect(batches, 2 * w + 1, shards[g]);
    for (int w = 0; w < workers; ++w)
      plan.connect(add_gradient_actor(plan, outputs[static_cast<std::size_t>(w)].gradients[g], w, g), shards[g]);
  }
  row_shards.connect(batches, outputs);
  shards.insert(shards.end(), row_shards.all().begin(), row_shards.all().end());
  connect_followers(plan, shards, workers);
  order_parameters(plan, step);
  return plan;
}

}  // namespace troupe
