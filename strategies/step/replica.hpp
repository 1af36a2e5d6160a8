#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "troupe/actors/plan/place.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

struct BatchSource;

/// The program for which a strategy makes a plan.
struct PlanRequest {
  const TrainingSpec& spec;
  const Dataset& data;
  std::uint64_t seed;
  /// Outputs of the graph that the sink of a replica reads, before the batch info.
  std::vector<std::string> sink_inputs;
  /// Names of the data and of the sink's task in the spawn context.
  std::string source = "data";
  std::string sink = "metrics";
  /// If given, the batches come from this actor, and `data` has their fields but no samples.
  const BatchSource* batches = nullptr;
};

/// One of the replicas that share the batches of a plan.
struct Replica {
  int number = 0;
  int count = 1;
  Place place = {};
};

/// Makes the actor of a collective op; see LowerOptions::make_collective.
using MakeCollective = std::function<ActorId(Plan&, const Node&)>;

/// An empty plan for the batches of the request, which `replicas` replicas share.
Plan empty_plan(const PlanRequest& request, int replicas);

/// Adds loader, graph and sink of a replica. A graph with collective ops needs `make_collective`, which gets the nodes
/// of `graph`.
void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, const Replica& replica,
                 const MakeCollective& make_collective = {});

/// Adds the sink of a replica. It reads those of the outputs that the request names, then the batch info.
void add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
              const OutputRef& batch_info, const Replica& replica);

}  // namespace troupe
