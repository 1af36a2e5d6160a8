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

/// The program and the data for which a strategy makes a plan.
struct PlanRequest {
  /// The kind of the sinks' tasks that a Trainer adds to SpawnContext::tasks.
  static constexpr const char* kSink = "metrics";

  const TrainingSpec& spec;
  const Dataset& data;
  std::uint64_t seed;
  /// The outputs of the graph that the sink of a replica, the actor that takes the results of a step, reads. The batch
  /// info (BatchInfo) follows them.
  std::vector<std::string> sink_inputs;
  /// `source` is the name of the data set in SpawnContext::sources, and `sink` the kind of the sink's task
  /// (PlanTask::kind). SpawnContext has the objects for which the names in a plan stand when the plan is spawned.
  std::string source = "data";
  std::string sink = kSink;
  /// The actor that makes the batches in place of a data set, or null. If it is set, `data` has its fields but no
  /// samples.
  const BatchSource* batches = nullptr;
};

/// Replica `number` of the `count` replicas that share the batches of a plan.
struct Replica {
  int number = 0;
  int count = 1;
  Place place = {};
};

/// Makes the actor of a collective op; see LowerOptions::make_collective.
using MakeCollective = std::function<ActorId(Plan&, const Node&)>;

/// Returns a plan without actors, for the batches of the request. Its max_rows is the number of rows of the largest
/// part of a batch that one of `replicas` replicas gets.
Plan empty_plan(const PlanRequest& request, int replicas);

/// Returns the graph of a step, optimized for a device.
Graph optimized_for(const Device& device, const Graph& graph);

/// Adds the actors of a replica: the loader of its part of the batches, the ops of its graph, and the sink.
/// `make_collective` must be set if the graph has collective ops; it gets the nodes of `graph`.
void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, const Replica& replica,
                 const MakeCollective& make_collective = {});

/// Adds the sink of a replica. The sink reads the outputs that request.sink_inputs names, then the batch info.
/// `outputs` are the outputs of the replica's graph by name.
void add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
              const OutputRef& batch_info, const Replica& replica);

}  // namespace troupe
