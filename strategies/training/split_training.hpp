#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "troupe/strategies/training/training_graph.hpp"

namespace troupe {

/// A parameter that is trained.
struct TrainedParameter {
  std::string name;
  TensorInfo info;
  Initializer initializer;
};

/// Parameters that lie and are updated together, elsewhere than where their gradients are made.
struct ParameterGroup {
  std::vector<TrainedParameter> parameters;
  /// Makes an update. Inputs: `gradients`, the sum of the replicas' blocks, and the batch info, whose step is the
  /// number of the update. It has the parameters and the state that goes with them.
  Graph update;

  /// All parameters in one flat block, as they travel; where each begins, in elements, and at last the size.
  std::vector<std::int64_t> parameter_offsets() const;
};

/// A training step in two: what a worker computes, and the updates.
struct SplitTraining {
  /// The forward graph and the gradients. Its outputs gradients_of(g) are for each group a flat block: the verdict on
  /// the loss, then the gradients of the group's parameters.
  Graph worker;
  std::vector<ParameterGroup> groups;
};

namespace names {
std::string gradients_of(std::size_t group);
}  // namespace names

/// Says which parameters make a group: numbers of `parameters`, which come in the order in which the backward pass
/// makes their gradients, each in one group.
using GroupParameters =
    std::function<std::vector<std::vector<std::size_t>>(std::span<const TrainedParameter> parameters)>;

/// With several replicas the worker's graph may contain all_reduce ops, as that of training_graph. Throws Error if
/// nothing can be trained, a parameter is in no group or in two, or the model has buffers.
SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields, const GroupParameters& group);

/// The update of some parameters by an optimizer; see ShardUpdate. The suffix makes other names of theirs, so that the
/// optimizer's state gets other names too.
Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix = {});

}  // namespace troupe
