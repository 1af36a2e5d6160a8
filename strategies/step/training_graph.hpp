#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/data/field.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/ops/nn/model.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"

namespace troupe {

/// A model with the loss and the optimizer that train it.
struct TrainingSpec {
  Model model;
  Loss loss;
  Optimizer optimizer;
  /// The metrics to compute. std::nullopt: the metrics that the loss provides.
  std::optional<std::vector<Metric>> metrics = {};
  /// Seed of the random numbers of the steps, such as those of dropout.
  std::uint64_t seed = 0;
  /// False: every step is applied, even if its loss or a gradient is not finite.
  bool check_finite = true;
  /// The name of the trainer, if it is not the only one on its parameters: residuals of hooks, which depend on the
  /// gradients of one trainer, are states of the trainer. See also Optimizer::of_trainer().
  std::string trainer = {};

  const std::vector<Metric>& used_metrics() const { return metrics ? *metrics : loss.metrics(); }
};

/// Names of the inputs and outputs of the graphs in this file. Inputs for fields have the names of the fields.
namespace names {
inline constexpr const char* kBatchInfo = GraphBuilder::kBatchInfo;
inline constexpr const char* kLoss = "loss";
/// The output of a training graph by which a replica reports whether a step is applied: the sum of the output over all
/// replicas is at most kLargestSum if the step is applied. It has no other meaning: on the host, a number up to 2^64
/// may be a bound of the magnitudes.
inline constexpr const char* kMagnitude = "magnitude";
/// The output of a training graph for the sum of the weights of the first mean that divides by weights, over all
/// replicas.
inline constexpr const char* kBatchWeight = "loss/batch_weight";
/// The output of a forward graph for training whose loss divides by weights: check_of_weights() of all means.
inline constexpr const char* kWeightCheck = "loss/weight_check";
/// Names of the outputs for the sum of the losses and the sum of the weights of mean number `mean` of a loss that
/// divides by weights (LossMean). A mean that divides by rows has no sum of weights.
inline std::string loss_sum(std::size_t mean) {
  return "loss/" + std::to_string(mean) + "/sum";
}
inline std::string loss_weight(std::size_t mean) {
  return "loss/" + std::to_string(mean) + "/weight";
}
/// Names of the outputs for the sum and the count of a metric, and for an output of the model.
inline std::string metric_sum(const std::string& metric) {
  return "metric/" + metric + "/sum";
}
inline std::string metric_count(const std::string& metric) {
  return "metric/" + metric + "/count";
}
inline std::string model_output(const std::string& output) {
  return "output/" + output;
}
}  // namespace names

/// The purpose of a forward pass. Layers with a training mode, such as dropout, use this mode for training alone.
enum class Purpose { training, evaluation };

/// The forward pass with loss and metrics, optimized. Inputs: the fields that model, loss and metrics read, and the
/// batch info. Outputs: those of the model; the loss, which is this replica's share of the batch's mean loss; sum and
/// count of every metric, without the count if it is the number of rows; for training, the next values of buffers. If
/// the loss divides by weights, there are also loss_sum() and loss_weight() of every mean; the graph for training has
/// an all_reduce of the weights, and the loss of the graph for evaluation only tells whether all losses are finite.
/// `replicas` is the number of replicas that compute a batch of training together. Throws Error that names the field if
/// one is missing or has another dtype or shape than is needed, and the errors of expect_rows_apart() with several
/// replicas. For training, throws Error if a group of the optimizer has no parameters; see Optimizer::expect_members().
Graph forward_graph(const TrainingSpec& spec, const std::vector<Field>& fields, Purpose purpose = Purpose::evaluation,
                    std::int64_t replicas = 1);

/// The model without loss and metrics, optimized. Inputs: the fields that the model reads. Outputs: those of the model.
/// Throws Error that names the field if one is missing or has another dtype or shape than is needed.
Graph model_graph(const TrainingSpec& spec, const std::vector<Field>& fields, Purpose purpose);

/// The model_graph() for evaluation.
Graph prediction_graph(const TrainingSpec& spec, const std::vector<Field>& fields);

/// The trainable parameters of a forward graph that the optimizer trains (Optimizer::trains) and on which the loss
/// depends, in the graph's order. The optimizer changes no other parameter: weight decay and momentum, too, leave a
/// parameter alone that the loss does not read.
std::vector<ValueId> trained_parameters(const Graph& graph, const Optimizer& optimizer);

/// The values that the backward pass of one replica makes.
struct ReplicaGradients {
  /// A scalar: 0 if the loss is finite, else a NaN; infinity if weights by which the loss divides are too large, see
  /// check_of_weights(). 0 if TrainingSpec::check_finite is false.
  Value loss_check;
  /// The trained parameters and their gradients, in the order in which the backward pass makes the gradients.
  std::vector<Value> parameters, gradients;
  /// The gradients of the values that were passed to add_gradients() as `further`, in the same order.
  std::vector<Value> further;
};

/// Adds to a forward graph the gradients of its loss with respect to the trained parameters and to the values
/// `further`. A valid `loss` takes the place of the loss. Throws Error if there are neither parameters nor `further`.
ReplicaGradients add_gradients(GraphBuilder& forward, const TrainingSpec& spec, std::span<const Value> further = {},
                               Value loss = {});

/// The gradients of all replicas, equal on all of them.
struct ReducedGradients {
  /// The number that step_is_finite() compares: the sum over the replicas of their magnitudes. If
  /// TrainingSpec::check_finite is false, it need not depend on the gradients.
  Value magnitude;
  /// The magnitude of this replica, if `magnitude` is the sum of this value over the replicas. The sink then reports it
  /// without waiting for the sum. If invalid, the sink reports the decision: it must be invalid if only some replicas
  /// report.
  Value own_magnitude;
  /// The sums of the gradients, in the order in which they were given.
  std::vector<Value> gradients;
};

/// Sums the gradients of a replica, which are float32 of any shape in the order in which the backward pass makes them,
/// over all replicas. `loss_check` is ReplicaGradients::loss_check. The magnitude of a replica is the
/// largest_magnitude() of `loss_check` and its gradients, with bound_of_magnitude() of the number of replicas.
using ReduceGradients = std::function<ReducedGradients(Value loss_check, std::span<const Value> gradients)>;

/// Returns the ReduceGradients for one replica, which leaves the gradients unchanged.
ReduceGradients unreduced(const TrainingSpec& spec);

/// The graph of a training step: the forward graph, the gradients of its loss, their sums by `reduce`, and the updates.
/// Outputs: those of the forward graph and names::kMagnitude. A step in which the loss or a gradient of any replica is
/// not finite changes no parameter and no optimizer state of any replica: the updates read a flag on their device.
/// `replicas` is the number of replicas that compute a batch together; layers gather values of so many. The graph may
/// contain collectives of layers besides those of `reduce`: with one replica, without_all_reduce() removes them.
/// `states`, to which `reduce` may add, are states of a hook that get their next values if the step is applied. Throws
/// Error if there is nothing to train, or if a magnitude that `reduce` returns does not depend on all gradients.
Graph training_graph(const TrainingSpec& spec, const std::vector<Field>& fields, const ReduceGradients& reduce,
                     std::int64_t replicas = 1, const GradientHook::NextStates* states = nullptr);

/// The names of the fields that a graph reads, in the order of its inputs. The batch info is no field.
std::vector<std::string> fields_read(const Graph& graph);

}  // namespace troupe
