#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// Applies the op layer_norm over the last axis of x, with a trained scale and shift.
struct LayerNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// Applies the op rms_norm over the last axis of x, with a trained scale.
struct RmsNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// Applies the op batch_norm over all axes of x but the last, with a trained scale and shift. A training graph uses the
/// statistics of the whole batch, which all replicas sum by an all-reduce. Other graphs use running statistics, which
/// are kept beside the parameters: after each training step running = (1 - momentum) running + momentum batch.
struct BatchNorm {
  static constexpr const char* kName = "norm";
  double momentum = 0.1;
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// Applies the op dropout in a training graph, and returns x in other graphs. The random numbers depend on
/// BuildOptions::seed. Throws Error if the rate is not in [0, 0.999].
struct Dropout {
  static constexpr const char* kName = "dropout";
  double rate = 0.5;

  Value operator()(Value x) const;
};

}  // namespace troupe
