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

namespace troupe {

/// What is trained: a model, how it is judged, and how it is improved.
struct TrainingSpec {
  Model model;
  Loss loss;
  Optimizer optimizer;
  /// If empty: those that the loss provides.
  std::optional<std::vector<Metric>> metrics = {};
  /// Random numbers of the steps, such as those of dropout, follow from it.
  std::uint64_t seed = 0;

  const std::vector<Metric>& used_metrics() const { return metrics ? *metrics : loss.metrics(); }
};

/// Names of inputs and outputs of the graphs below, beside the fields.
namespace names {
inline constexpr const char* kBatchInfo = GraphBuilder::kBatchInfo;
inline constexpr const char* kLoss = "loss";
/// A metric's sum and count, and an output of the model.
std::string metric_sum(const std::string& metric);
std::string metric_count(const std::string& metric);
std::string model_output(const std::string& output);
}  // namespace names

/// Whether layers that behave differently in training do so.
enum class Purpose { training, evaluation };

/// Inputs: the fields that model, loss and metrics read, and the batch info. Outputs: those of the model, the loss
/// (this replica's share of the batch's mean loss), and sum and count (if it is not the rows) of every metric; in
/// training, the next values of buffers. Optimised. Throws Error that names the field if one is missing or of another
/// dtype or shape than is needed.
Graph forward_graph(const TrainingSpec& spec, const std::vector<Field>& fields, Purpose purpose = Purpose::evaluation);

/// The model alone: its outputs from the fields that it reads.
Graph prediction_graph(const TrainingSpec& spec, const std::vector<Field>& fields);

/// How the values of one replica (float32 of any shape) become their sums over all replicas, in the same order. First
/// comes a scalar that says whether the replica's loss is finite, then the gradients in the order in which the backward
/// pass makes them.
using ReduceGradients = std::function<std::vector<Value>(std::span<const Value>)>;

/// For one replica: the values as they are.
std::vector<Value> unreduced(std::span<const Value> values);

/// The forward graph, the gradients of its loss, their reduction, and the updates. A step in which the loss of any
/// replica is not finite changes no parameter and no optimizer state of any replica; that is decided where the updates
/// are computed. Outputs as those of the forward graph. With several replicas it may contain all_reduce ops of its own,
/// besides those of `reduce`: see without_all_reduce. Throws Error if nothing can be trained.
Graph training_graph(const TrainingSpec& spec, const std::vector<Field>& fields, const ReduceGradients& reduce);

/// The fields that a graph reads, in the order of its inputs.
std::vector<std::string> fields_read(const Graph& graph);

}  // namespace troupe
