#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// (x - mean) / sqrt(variance + epsilon) * scale + shift, with mean and variance over the last axis: Ba, Kiros and
/// Hinton, "Layer normalization" (2016). x is [..., C], scale and shift are [C], all float32.
Value layer_norm(Value x, Value scale, Value shift, double epsilon = 1e-5);

/// x / sqrt(mean of x squared + epsilon) * scale over the last axis: Zhang and Sennrich, "Root mean square layer
/// normalization" (NeurIPS 2019).
Value rms_norm(Value x, Value scale, double epsilon = 1e-5);

}  // namespace troupe
