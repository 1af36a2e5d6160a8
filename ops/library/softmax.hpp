#pragma once

#include <optional>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// exp(x) / sum(exp(x)) over the last axis, computed from x minus its largest element.
Value softmax(Value x);

/// x - log(sum(exp(x))) over the last axis.
Value log_softmax(Value x);

struct CrossEntropy {
  Value loss;               ///< [...]: minus the logarithm of the probability of the label
  Value log_probabilities;  ///< [..., C]
};

struct CrossEntropyOptions {
  /// So much of the target is shared equally by all classes: Szegedy and others, "Rethinking the Inception
  /// architecture" (CVPR 2016).
  double smoothing = 0.0;
  /// A label whose loss and gradient are 0, such as padding; it may lie outside the classes.
  std::optional<std::int32_t> ignored = {};
};

/// Softmax cross-entropy of logits [..., C] against integer labels int32[...]. A label outside 0 .. C-1 ends the step
/// with an Error.
CrossEntropy softmax_cross_entropy(Value logits, Value labels, CrossEntropyOptions options = {});

/// The same against probabilities, float32 [..., C], which get no gradient: the loss [...].
Value soft_cross_entropy(Value logits, Value probabilities);

/// int64 scalar: the number of rows of logits [..., C] whose largest element is at the label (int32[...]); the first of
/// equals counts. Rows with the ignored label do not.
Value count_correct(Value logits, Value labels, std::optional<std::int32_t> ignored = {});

}  // namespace troupe
