#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/step/placed_parameter.hpp"
#include "troupe/strategies/step/row_lookups.hpp"
#include "troupe/strategies/step/trained_parameter.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// Parameters, or rows of parameters, that one server holds and updates together. Workers compute the gradients of
/// these parameters.
struct ParameterGroup {
  std::vector<TrainedParameter> parameters;
  /// The update of the parameters and their state. Inputs: `gradients`, the sum of the replicas' blocks of gradients,
  /// and the batch info, whose step is the number of the update.
  Graph update;
  /// Set if a hook encodes gradients: the graph that decodes the input `sent`, which a worker sends, into the output
  /// `block`, the worker's block of gradients.
  std::optional<Graph> decode = {};
  /// The index of the server that holds the group.
  std::size_t server = 0;

  /// Returns the offset of each parameter in the flat block that carries all parameters of the group, in elements; then
  /// the size of the block.
  std::vector<std::int64_t> parameter_offsets() const;
};

/// A parameter of which workers look up rows. Each part of it lies on one server.
struct ParameterRows {
  TrainedParameter parameter;
  RowLookup lookup;
  struct Part {
    RowRange rows;
    std::size_t server;
  };
  std::vector<Part> parts;  // sorted by rows
  /// A part of the parameter, with as many rows as one run of `update` takes.
  TrainedParameter chunk;
  /// The update of `chunk`; see ParameterGroup::update.
  Graph update;
};

/// A training step in two halves: the computation of a worker, and the updates of the servers.
struct SplitTraining {
  /// The names of all parameters, also of those that are not trained, in the model's order.
  std::vector<std::string> names;
  /// The trained parameters, in the model's order.
  std::vector<TrainedParameter> parameters;
  /// The forward graph and the gradients. If a hook has states and the workers decide together, the graph has one
  /// all_reduce, by which they agree on whether the states change; else it has none. The output names::kMagnitude is
  /// the magnitude of the worker; see magnitude_of(). For each group g the output gradients_of(g) is a flat block: the
  /// magnitude, then the gradients of the group's parameters; or, with a hook, 0 if the magnitude is finite, else 1,
  /// and the hook's encoding of these gradients. A parameter that is split over groups is concatenated from its parts,
  /// which are parameters of this graph. For each parameter of `looked_up` there are the input rows_of() and the output
  /// row_gradients_of(); see RowLookup::gradients().
  Graph worker;
  std::vector<ParameterGroup> groups;
  std::vector<ParameterRows> looked_up;
  /// The graph that computes the indices of the rows that are looked up, with the outputs indices_of().
  Graph indices;
  /// True: the loss divides by the weights of a batch, of which each worker has a part. The gradients in a block are
  /// those of the sum of the weighted losses, and the element after the magnitude is the sum of the weights.
  bool weighted = false;
  /// The name of the trainer; see TrainingSpec::trainer.
  std::string trainer = {};

  /// The number of shards: one for each group, and one for each part of each parameter in looked_up.
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

/// The form in which workers get row-sparse parameters: whole, or only the rows that they look up.
enum class SparseRows { whole, looked_up };

struct SplitOptions {
  SparseRows sparse = SparseRows::whole;
  /// Encodes the gradients of the groups. Null: workers send float32 gradients.
  const GradientHook* hook = nullptr;
  /// True: a worker computes whole batches, not its part of each batch, so that values of all replicas are its own.
  /// False is possible for a loss that divides by weights if it is one mean, without a hook and without looked-up rows.
  bool whole_batches = false;
  /// True: the states of a hook change only if no worker of the step has failed, because servers leave out the step of
  /// all. The worker's graph may then have an all_reduce; see SplitTraining::worker.
  bool decides_together = false;
  /// The largest sum of the weights by which gradients of workers are multiplied before they are added up in an update,
  /// such as the number of workers whose gradients are added; twice the number if ShardUpdate::take_part() multiplies
  /// them. See bound_of_magnitude(). Each server, and the log of the metrics, then takes the same decision, whether it
  /// knows the magnitudes or only whether they are finite.
  double weights = 1.0;
};

/// Splits a training step into a worker's computation and the updates of servers. Throws Error if the model has nothing
/// to train or updates a buffer, model or loss need values of all replicas and `whole_batches` is not set, a row of a
/// parameter is placed nowhere or twice, or the optimizer needs values together that are placed apart.
SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields,
                             const PlaceParameters& place = all_together, const SplitOptions& options = {});

}  // namespace troupe
