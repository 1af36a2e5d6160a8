#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace troupe
