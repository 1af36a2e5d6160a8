#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Normalization of every row of x [..., C]; means and variances are those of the row. A row lies along the last axis,
// which must not be the batch. `scale` and `shift` must be [C]. All values must be float32.

/// (x - mean) / sqrt(variance + epsilon) * scale + shift: Ba, Kiros and Hinton, "Layer normalization" (2016).
Value layer_norm(Value x, Value scale, Value shift, double epsilon = 1e-5);

/// x / sqrt(mean of x squared + epsilon) * scale: Zhang and Sennrich, "Root mean square layer normalization" (NeurIPS
/// 2019).
Value rms_norm(Value x, Value scale, double epsilon = 1e-5);

}  // namespace troupe
