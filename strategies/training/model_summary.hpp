#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

/// What a model consists of, and what training it takes.
struct ModelSummary {
  /// A parameter or buffer.
  struct Row {
    std::string name;
    Shape shape;
    bool trained = false;
  };
  /// The layers of a model in the order of their names' first use: what stands before the first dot of its values.
  struct Layer {
    std::string name;
    TensorInfo output;
    std::int64_t elements = 0;  ///< of its trained parameters
  };
  std::vector<Layer> layers;
  std::vector<Row> rows;
  std::int64_t trained_elements = 0;
  /// Of the plan that trains it on the data, for all replicas.
  PlanMemory memory;
};

/// Makes the plan of a fit, but runs nothing. Throws Error if the model does not fit the data.
ModelSummary summarize(const Trainer& trainer, const Dataset& data);

/// A table for people.
std::string to_string(const ModelSummary& summary);

}  // namespace troupe
