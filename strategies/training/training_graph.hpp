#pragma once

#include <functional>
#include <string>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// A loss: from scores [B, C] and labels int32[B] to one float32 a row, [B].
using Loss = std::function<Value(Value scores, Value labels)>;

/// Softmax cross-entropy from integer labels.
struct SoftmaxCrossEntropy {
  Value operator()(Value scores, Value labels) const;
};

/// What is trained: a model, how it is judged, and how it is improved.
struct TrainingSpec {
  Model model;
  Loss loss;
  Optimizer optimizer;
};

/// Names of the inputs and outputs of the graphs below.
namespace names {
inline constexpr const char* kFeatures = "features";
inline constexpr const char* kLabels = "labels";
inline constexpr const char* kBatchInfo = "batch_info";
inline constexpr const char* kScores = "scores";
inline constexpr const char* kLoss = "loss";
inline constexpr const char* kCorrect = "correct";
}  // namespace names

/// Inputs features [B, ...], labels int32[B] and batch_info int64[4]; outputs scores [B, C], loss (this replica's share
/// of the batch's mean loss) and correct (rows whose largest score is at the label). Optimised.
Graph forward_graph(const TrainingSpec& spec, const Shape& features);

/// How gradients become those of the whole batch: from the gradients of one replica, in the order in which the backward
/// pass makes them, to the reduced ones in the same order.
using ReduceGradients = std::function<std::vector<Value>(std::span<const Value>)>;

/// The forward graph, the gradients of its loss, their reduction, and the updates. A loss that is not finite ends the
/// step before any update. Outputs as above.
Graph training_graph(const TrainingSpec& spec, const Shape& features, const ReduceGradients& reduce);

}  // namespace troupe
