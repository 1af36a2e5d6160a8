#include "troupe/strategies/step/replica_input.hpp"

#include <algorithm>

#include "troupe/actors/load/loader.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/strategies/step/batch_source.hpp"

namespace troupe {

namespace {

ReplicaInput add_data_set(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                          const Replica& replica) {
  const auto& [number, count, place] = replica;
  const auto host = host_side(place);
  if (!kept_on(place.device, request.data, fields)) {
    const auto loader = add_loader(plan, request.source, request.data, fields, request.seed, count, number, host);
    return {loader, {loader, static_cast<std::int32_t>(fields.size())}};
  }
  const auto indices = add_index_loader(plan, request.source, request.data, request.seed, count, number, host);
  return {add_row_loader(plan, request.source, request.data, fields, {indices, 0}, number, place), {indices, 1}};
}

/// Adds the actor that makes the batches, or returns it if the plan already has it for another replica. Throws Error if
/// an actor that makes no batches has its name.
ActorId add_source(Plan& plan, const PlanActor& actor) {
  const auto same = std::ranges::find(plan.actors, actor.name, &PlanActor::name);
  if (same == plan.actors.end()) return plan.add(actor);
  if (same->role != ActorRole::external || same->pacing != Pacing::source)
    throw Error(actor.name, "is the name of another actor of the plan, too");
  return static_cast<ActorId>(same - plan.actors.begin());
}

}  // namespace

ReplicaInput add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                       const Replica& replica) {
  if (request.batches == nullptr) return add_data_set(plan, request, fields, replica);
  const auto source = add_source(plan, request.batches->actor);
  std::vector<std::int32_t> outputs;
  for (const auto& field : fields) outputs.push_back(static_cast<std::int32_t>(request.data.index_of(field)));
  const auto feeder = add_feeder(plan, source, outputs, request.data.batch_rows(), replica.count, replica.number,
                                 host_side(replica.place));
  return {feeder, {feeder, static_cast<std::int32_t>(fields.size())}};
}

ReplicaInput add_dispatched_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                                  ActorId batches, const Replica& worker, bool may_be_on_device) {
  const auto& [number, count, place] = worker;
  const OutputRef samples{batches, 2 * number}, batch_info{batches, 2 * number + 1};
  if (may_be_on_device && kept_on(place.device, request.data, fields))
    return {add_row_loader(plan, request.source, request.data, fields, samples, number, place), batch_info};
  return {add_gatherer(plan, request.source, request.data, fields, samples, number, host_side(place)), batch_info};
}

LowerOptions lower_options(const Graph& graph, const ReplicaInput& input, const Replica& replica) {
  const auto fields = fields_read(graph);
  LowerOptions options{.place = replica.place, .replica = replica.number};
  for (std::size_t i = 0; i < fields.size(); ++i)
    options.inputs[fields[i]] = {input.loader, static_cast<std::int32_t>(i)};
  if (graph.sources(kInput).size() > fields.size()) options.inputs[names::kBatchInfo] = input.batch_info;
  return options;
}

}  // namespace troupe
