#include "troupe/strategies/step/replica.hpp"

#include <algorithm>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/replica_input.hpp"

namespace troupe {

Plan empty_plan(const PlanRequest& request, int replicas) {
  Plan plan;
  const auto& data = request.data;
  if (request.batches == nullptr && !data.layout().whole()) {
    const int shards = data.layout().shards();
    plan.max_rows = part_of_batch(part_of_batch(data.batch_rows(), shards, 0).rows, replicas / shards, 0).rows;
    return plan;
  }
  const auto rows = request.batches != nullptr ? data.batch_rows() : data.largest_batch();
  plan.max_rows = part_of_batch(rows, replicas, 0).rows;
  return plan;
}

Graph optimized_for(const Device& device, const Graph& graph) {
  const auto compute = dtype_of(matmul_precision());
  return is_host(device) ? optimize_for_host(graph, compute) : optimize_for_device(graph, compute);
}

void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, const Replica& replica,
                 const MakeCollective& make_collective) {
  const auto input = add_input(plan, request, fields_read(graph), replica);
  auto options = lower_options(graph, input, replica);
  // The caller's make_collective gets the node of `graph` that has the name of the optimized node.
  if (make_collective)
    options.make_collective = [&](Plan& to, const Node& node) {
      return make_collective(to, *std::ranges::find(graph.nodes(), node.name, &Node::name));
    };
  const auto outputs = lower(plan, optimized_for(replica.place.device, graph), options);
  add_sink(plan, request, outputs, input.batch_info, replica);
}

void add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
              const OutputRef& batch_info, const Replica& replica) {
  PlanActor sink;
  sink.name = "sink@" + std::to_string(replica.number);
  sink.role = ActorRole::sink;
  sink.place = host_side(replica.place);
  sink.replica = replica.number;
  sink.task.kind = request.sink;
  const auto id = plan.add(std::move(sink));
  for (const auto& name : request.sink_inputs) {
    const auto output = outputs.find(name);
    if (output == outputs.end())
      throw Error("strategy", "the graph of a replica has no output '" + name + "' for its sink");
    plan.connect(output->second, id);
  }
  plan.connect(batch_info, id);
}

}  // namespace troupe
