#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// exp(x) / sum(exp(x)) over the last axis, computed from x minus its largest element.
Value softmax(Value x);

struct CrossEntropy {
  Value loss;               ///< [B]: minus the logarithm of the probability of the label
  Value log_probabilities;  ///< [B, C]
};

/// Softmax cross-entropy of logits [B, C] against integer labels int32[B]. A label outside 0 .. C-1 ends the step with
/// an Error.
CrossEntropy softmax_cross_entropy(Value logits, Value labels);

/// int64 scalar: the number of rows of logits [B, C] whose largest element is at the label (int32[B]); the first of
/// equals counts.
Value count_correct(Value logits, Value labels);

}  // namespace troupe
