#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/step/row_lookups.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// Rows of a parameter.
struct PartOf {
  std::string parameter;
  RowRange rows;
  TensorInfo whole;  ///< the whole parameter
};

/// A trained parameter, or a part of one.
struct TrainedParameter {
  std::string name;
  TensorInfo info;
  Initializer initializer;
  std::optional<PartOf> part_of = {};
  bool row_sparse = false;
};

/// The part of a whole parameter that consists of these rows. Its name ends with the rows: `w[0:3]`.
TrainedParameter part_of(const TrainedParameter& whole, const RowRange& rows);

/// The update of some parameters by an optimizer; see ShardUpdate. The suffix is appended to the names of the
/// parameters, and so becomes part of the names of the optimizer's state. Throws Error if the optimizer needs a whole
/// parameter of which there is a part.
Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix = {});

/// A parameter or state of an update, as it lies in the store.
struct StoredValue {
  PlanParameter parameter;
  /// The rows that the update has. Nothing: all.
  std::optional<RowRange> rows = {};
};

/// The values that an update changes, in the order of the sources of its graph. State with the shape of a part lies in
/// the same rows of the whole parameter's state. Other state belongs to the part alone.
std::vector<StoredValue> stored_values(const Graph& update, std::span<const TrainedParameter> parameters);

/// Parameters, or rows of parameters, that lie and are updated together, elsewhere than where their gradients are made.
struct ParameterGroup {
  std::vector<TrainedParameter> parameters;
  /// The update of the parameters and their state. Inputs: `gradients`, the sum of the replicas' blocks, and the batch
  /// info, whose step is the number of the update.
  Graph update;
  /// With a hook: makes the replica's block, the output `block`, from the input `sent`.
  std::optional<Graph> decode = {};
  /// The server on which the group lies.
  std::size_t server = 0;

  /// The offset, in elements, of each parameter in the flat block in which all travel; at last the size of the block.
  std::vector<std::int64_t> parameter_offsets() const;
};

/// A parameter of which workers look up rows. Its parts lie on servers.
struct ParameterRows {
  TrainedParameter parameter;
  RowLookup lookup;
  struct Part {
    RowRange rows;
    std::size_t server;
  };
  std::vector<Part> parts;  // ascending
  /// A part with the number of rows that one update takes.
  TrainedParameter chunk;
  /// The update of `chunk`; see ParameterGroup::update.
  Graph update;
};

/// A training step in two parts: the computation of a worker, and the updates.
struct SplitTraining {
  /// The trained parameters, in the model's order.
  std::vector<TrainedParameter> parameters;
  /// The forward graph and the gradients, without all_reduce ops. For each group g the output gradients_of(g) is a flat
  /// block: loss_is_finite, see ReplicaGradients, then the gradients of the group's parameters; or a hook's encoding of
  /// that block. A parameter that is split over groups is put together from its parts. For each parameter of
  /// `looked_up` there are the input rows_of() and the output row_gradients_of(); see RowLookup::gradients().
  Graph worker;
  std::vector<ParameterGroup> groups;
  std::vector<ParameterRows> looked_up;
  /// Computes the indices of the rows that are looked up: outputs indices_of().
  Graph indices;

  /// The number of groups and of parts of looked_up: a shard has one of these.
  std::size_t shards() const;
};

namespace names {
inline std::string gradients_of(std::size_t group) {
  return "gradients/" + std::to_string(group);
}
inline std::string row_gradients_of(const std::string& parameter) {
  return "row_gradients/" + parameter;
}
}  // namespace names

/// The server of a parameter, or of some of its rows. Those with the same server are a group, except for parameters of
/// which rows are looked up.
struct PlacedParameter {
  std::size_t parameter;  ///< index
  std::optional<RowRange> rows = {};
  std::size_t server = 0;
};

/// Places every row of every parameter. Parameters come in the order in which the backward pass makes their gradients;
/// those of which rows are looked up come last.
using PlaceParameters = std::function<std::vector<PlacedParameter>(std::span<const TrainedParameter> parameters)>;

/// Places all parameters in one group.
std::vector<PlacedParameter> all_together(std::span<const TrainedParameter> parameters);

/// Whether workers get row-sparse parameters whole, or the rows that they look up.
enum class SparseRows { whole, looked_up };

struct SplitOptions {
  SparseRows sparse = SparseRows::whole;
  /// If given, encodes the gradients of the groups.
  const GradientHook* hook = nullptr;
};

/// Splits a training step. Throws Error if the model has nothing to train or updates a buffer, a row of a parameter is
/// placed nowhere or twice, or the optimizer needs values together that are placed apart.
SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields,
                             const PlaceParameters& place = all_together, const SplitOptions& options = {});

}  // namespace troupe
