#pragma once

#include <optional>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Softmax over the last axis, and losses and metrics of logits [..., C] against labels, int32 [...].

/// exp(x) / sum(exp(x)), computed from x minus its largest element.
Value softmax(Value x);

/// x - log(sum(exp(x))).
Value log_softmax(Value x);

struct CrossEntropy {
  Value loss;               ///< [...], minus the logarithm of the probability of the label
  Value log_probabilities;  ///< [..., C]
};

struct CrossEntropyOptions {
  /// Share of the target, 0 to 1, that is spread equally over all classes: Szegedy and others, "Rethinking the
  /// Inception architecture" (CVPR 2016).
  double smoothing = 0.0;
  /// A label whose loss and gradient are 0, such as padding; it may lie outside the classes.
  std::optional<std::int32_t> ignored = {};
};

/// Softmax cross-entropy of logits [..., C] against labels [...]. A label outside 0 .. C-1 ends the step with an Error.
CrossEntropy softmax_cross_entropy(Value logits, Value labels, CrossEntropyOptions options = {});

/// Softmax cross-entropy of logits [..., C] against probabilities, float32 [..., C]: the loss [...]. The probabilities
/// get no gradient.
Value soft_cross_entropy(Value logits, Value probabilities);

/// The number of rows of logits [..., C] whose largest element, the first of equal ones, is at the label [...]: an
/// int64 scalar. Rows with the label `ignored` do not count.
Value count_correct(Value logits, Value labels, std::optional<std::int32_t> ignored = {});

}  // namespace troupe
