#pragma once

#include <optional>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Softmax over the last axis, and losses and metrics of logits. All inputs except labels must be float32. The last axis
// must not be the batch.

/// exp(x) / sum(exp(x)), computed from x minus the largest element of the row, so that it does not overflow.
Value softmax(Value x);

/// x - log(sum(exp(x))).
Value log_softmax(Value x);

struct CrossEntropy {
  Value loss;               ///< float32 [...]; 0 for an ignored label
  Value log_probabilities;  ///< float32 [..., C], log_softmax of the logits
};

struct CrossEntropyOptions {
  /// The part of the target probability, 0 to 1, that is spread equally over all classes: Szegedy and others,
  /// "Rethinking the Inception architecture" (CVPR 2016).
  double smoothing = 0.0;
  /// A label whose rows have the loss 0 and the gradient 0, such as the label of padding. It may lie outside the
  /// classes 0 .. C-1.
  std::optional<std::int32_t> ignored = {};
};

/// Softmax cross-entropy of float32 logits [..., C] against labels, which must be int32 [...]. A label outside 0 .. C-1
/// that is not the ignored one ends the step with an Error.
CrossEntropy softmax_cross_entropy(Value logits, Value labels, CrossEntropyOptions options = {});

/// Softmax cross-entropy of logits against target probabilities, both float32 [..., C]. Returns the losses, float32
/// [...]. The probabilities get no gradient.
Value soft_cross_entropy(Value logits, Value probabilities);

/// Returns an int64 scalar: the number of rows of logits, float32 [..., C], whose largest element is at the index that
/// the label of the row gives. Of equal largest elements the first counts. The labels must be int32 [...]. Rows with
/// the label `ignored` do not count.
Value count_correct(Value logits, Value labels, std::optional<std::int32_t> ignored = {});

}  // namespace troupe
