#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/step/row_lookups.hpp"
#include "troupe/strategies/step/trained_parameter.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// Parameters, or rows of them, that lie and are updated together, elsewhere than where their gradients are made.
struct ParameterGroup {
  std::vector<TrainedParameter> parameters;
  /// Makes an update. Inputs: `gradients`, the sum of the replicas' blocks, and the batch info, whose step is the
  /// number of the update. It has the parameters and the state that goes with them.
  Graph update;
  /// With a hook: makes the replica's block, the output `block`, of what comes from it, the input `sent`.
  std::optional<Graph> decode = {};
  /// Where they lie, as it was said.
  std::size_t server = 0;

  /// All parameters in one flat block, as they travel; where each begins, in elements, and at last the size.
  std::vector<std::int64_t> parameter_offsets() const;
};

/// A parameter of which workers look up rows; groups of its rows lie apart.
struct ParameterRows {
  TrainedParameter parameter;
  RowLookup lookup;
  struct Part {
    RowRange rows;
    std::size_t server;
  };
  std::vector<Part> parts;  // ascending
  /// Makes an update of `chunk`, which stands for any so many rows; as that of a ParameterGroup.
  TrainedParameter chunk;
  Graph update;
};

/// A training step in two: what a worker computes, and the updates.
struct SplitTraining {
  /// What is trained, in the model's order.
  std::vector<TrainedParameter> parameters;
  /// The forward graph and the gradients. Its outputs gradients_of(g) are for each group a flat block: the verdict on
  /// the loss, then the gradients of the group's parameters, or what a hook makes of that. A parameter of which groups
  /// have some rows each is made of these. For each parameter of `looked_up` it has the input rows_of() and the output
  /// row_gradients_of(), see RowLookup::gradients().
  Graph worker;
  std::vector<ParameterGroup> groups;
  std::vector<ParameterRows> looked_up;
  /// Computes which rows are looked up: outputs indices_of().
  Graph indices;
};

namespace names {
std::string gradients_of(std::size_t group);
std::string row_gradients_of(const std::string& parameter);
}  // namespace names

/// Where a parameter, or some rows of it, lies: those with the same server, but for what is looked up, are a group.
struct PlacedParameter {
  std::size_t parameter;  ///< its number
  std::optional<RowRange> rows = {};
  std::size_t server = 0;
};

/// Says where every row of every parameter lies. Parameters come in the order in which the backward pass makes their
/// gradients, those that are looked up at last.
using PlaceParameters = std::function<std::vector<PlacedParameter>(std::span<const TrainedParameter> parameters)>;

/// Whether workers get row-sparse parameters whole, or the rows that they look up.
enum class SparseRows { whole, looked_up };

struct SplitOptions {
  SparseRows sparse = SparseRows::whole;
  /// If given: what is done to the gradients of the groups on their way.
  const GradientHook* hook = nullptr;
};

/// With several replicas the worker's graph may contain all_reduce ops, as that of training_graph. Throws Error if
/// nothing can be trained, a row of a parameter lies nowhere or in two places, or the optimizer needs what lies in
/// different places together.
SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields, const PlaceParameters& place,
                             const SplitOptions& options = {});

}  // namespace troupe
