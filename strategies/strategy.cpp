#include "troupe/strategies/strategy.hpp"

#include <algorithm>
#include <optional>

#include "troupe/actors/load/batch_feeder.hpp"
#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/load/row_loader.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/batch_source.hpp"

namespace troupe {

/// What gives a replica its part of the batches.
struct Strategy::Input {
  ActorId fields;  ///< whose outputs they are, in order
  OutputRef batch_info;
};

Strategy::Strategy(std::vector<Place> places) : places_(std::move(places)) {
  if (places_.empty()) throw Error("strategy", "needs at least one replica");
}

std::int64_t Strategy::step_rows(std::int64_t batch_rows) const {
  return shares_steps() ? batch_rows : part_of_batch(batch_rows, num_replicas_in_sync(), 0).rows;
}

std::vector<Place> places_of(const std::vector<Device>& devices) {
  std::vector<Place> places;
  for (const auto& device : devices) places.push_back({0, device});
  return places;
}

Plan Strategy::empty_plan(const PlanRequest& request) const {
  return empty_plan(request, num_replicas_in_sync());
}

Plan Strategy::empty_plan(const PlanRequest& request, int replicas) {
  Plan plan;
  const auto& data = request.data;
  if (request.batches == nullptr && !data.layout().whole()) {
    const int shards = data.layout().shards();
    plan.max_rows = part_of_batch(part_of_batch(data.batch_rows(), shards, 0).rows, replicas / shards, 0).rows;
    return plan;
  }
  const auto most = request.batches != nullptr ? data.batch_rows() : std::max<std::int64_t>(1, data.rows());
  plan.max_rows = part_of_batch(std::min(data.batch_rows(), most), replicas, 0).rows;
  return plan;
}

Strategy::Input Strategy::add_loaders(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                      const Replica& replica) {
  const auto& [number, count, place] = replica;
  const auto host = host_side(place);
  if (!kept_on(place.device, request.data, fields)) {
    const auto loader = add_loader(plan, request.source, request.data, fields, request.seed, count, number, host);
    return {loader, {loader, static_cast<std::int32_t>(fields.size())}};
  }
  const auto numbers = add_index_loader(plan, request.source, request.data, request.seed, count, number, host);
  return {add_row_loader(plan, request.source, request.data, fields, {numbers, 0}, number, place), {numbers, 1}};
}

Strategy::Input Strategy::add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                    const Replica& replica) {
  if (request.batches == nullptr) return add_loaders(plan, request, fields, replica);
  const auto& actor = request.batches->actor;
  const auto known = std::ranges::find(plan.actors, actor.name, &PlanActor::name);
  if (known != plan.actors.end() && (known->role != ActorRole::external || known->pacing != Pacing::source))
    throw Error(actor.name, "is the name of another actor of the plan, too");
  const auto source = known == plan.actors.end() ? plan.add(actor) : static_cast<ActorId>(known - plan.actors.begin());
  std::vector<std::int32_t> outputs;
  for (const auto& field : fields) outputs.push_back(static_cast<std::int32_t>(request.data.index_of(field)));
  const auto feeder = add_feeder(plan, source, outputs, request.data.batch_rows(), replica.count, replica.number,
                                 host_side(replica.place));
  return {feeder, {feeder, static_cast<std::int32_t>(fields.size())}};
}

void Strategy::add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, int replica,
                           const MakeCollective& make_collective) const {
  add_replica(plan, request, graph, {replica, num_replicas_in_sync(), places_.at(replica)}, make_collective);
}

void Strategy::add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, const Replica& replica,
                           const MakeCollective& make_collective) {
  const auto fields = fields_read(graph);
  const auto input = add_input(plan, request, fields, replica);
  LowerOptions options{.place = replica.place, .replica = replica.number, .make_collective = make_collective};
  const auto& device = replica.place.device;
  const auto optimized =
      is_host(device) ? std::nullopt : std::optional(optimize_for_device(graph, dtype_of(matmul_precision())));
  // Whoever gave the graph knows the collectives of that one.
  if (optimized && make_collective)
    options.make_collective = [&](Plan& to, const Node& node) {
      return make_collective(to, *std::ranges::find(graph.nodes(), node.name, &Node::name));
    };
  for (std::size_t i = 0; i < fields.size(); ++i)
    options.inputs[fields[i]] = {input.fields, static_cast<std::int32_t>(i)};
  if (graph.sources(kInput).size() > fields.size()) options.inputs[names::kBatchInfo] = input.batch_info;
  const auto outputs = lower(plan, optimized ? *optimized : graph, options);
  add_sink(plan, request, outputs, input.batch_info, replica);
}

void Strategy::add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
                        const OutputRef& batch_info, int replica) const {
  add_sink(plan, request, outputs, batch_info, {replica, num_replicas_in_sync(), places_.at(replica)});
}

void Strategy::add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
                        const OutputRef& batch_info, const Replica& replica) {
  PlanActor sink;
  sink.name = "sink@" + std::to_string(replica.number);
  sink.role = ActorRole::sink;
  sink.place = host_side(replica.place);
  sink.replica = replica.number;
  sink.task.kind = request.sink;
  const auto id = plan.add(std::move(sink));
  for (const auto& name : request.sink_inputs) plan.connect(outputs.at(name), id);
  plan.connect(batch_info, id);
}

Plan Strategy::evaluation_plan(const PlanRequest& request) const {
  return forward_plan(request, forward_graph(request.spec, request.data.fields()));
}

Plan Strategy::prediction_plan(const PlanRequest& request) const {
  return forward_plan(request, prediction_graph(request.spec, request.data.fields()));
}

Plan Strategy::forward_plan(const PlanRequest& request, const Graph& graph) const {
  const auto places = forward_places();
  const auto count = static_cast<int>(places.size());
  auto plan = empty_plan(request, count);
  for (int number = 0; number < count; ++number)
    add_replica(plan, request, graph, {number, count, places[static_cast<std::size_t>(number)]}, {});
  return plan;
}

}  // namespace troupe
