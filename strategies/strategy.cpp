#include "troupe/strategies/strategy.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/run/loader.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

Strategy::Strategy(std::vector<Device> devices) : devices_(std::move(devices)) {
  if (devices_.empty()) throw Error("strategy", "needs at least one replica");
  if (std::set<Device>(devices_.begin(), devices_.end()).size() != devices_.size())
    throw Error("strategy", "two replicas cannot share a device");
}

Plan Strategy::empty_plan(const PlanRequest& request) const {
  Plan plan;
  const auto rows = std::min(request.data.batch_rows(), std::max<std::int64_t>(1, request.data.rows()));
  plan.max_rows = part_of_batch(rows, num_replicas_in_sync(), 0).rows;
  return plan;
}

void Strategy::add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, int replica,
                           const std::function<ActorId(Plan&, const Node&)>& make_collective) const {
  const auto& device = devices_.at(replica);
  request.store.add(graph, replica, device);
  const auto loader = add_loader(plan, request.data, request.seed, num_replicas_in_sync(), replica, device);
  LowerOptions options{device, replica, {}, 1, make_collective};
  options.inputs = {{names::kFeatures, {loader, kFeatures}},
                    {names::kLabels, {loader, kLabels}},
                    {names::kBatchInfo, {loader, kBatchInfo}}};
  const auto outputs = lower(plan, graph, request.store, options);
  PlanActor sink;
  sink.name = "sink@" + std::to_string(replica);
  sink.role = ActorRole::sink;
  sink.device = device;
  sink.replica = replica;
  sink.make_task = request.make_sink(replica);
  const auto id = plan.add(std::move(sink));
  for (const auto& name : request.sink_inputs) plan.connect(outputs.at(name), id);
  plan.connect(loader, kBatchInfo, id);
}

Plan Strategy::evaluation_plan(const PlanRequest& request) const {
  auto plan = empty_plan(request);
  const auto graph = forward_graph(request.spec, request.data.feature_shape());
  for (int replica = 0; replica < num_replicas_in_sync(); ++replica) add_replica(plan, request, graph, replica);
  return plan;
}

}  // namespace troupe
