#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// layer_norm over the last axis, with a trained scale and shift.
struct LayerNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// rms_norm over the last axis, with a trained scale.
struct RmsNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// batch_norm over all axes but the last, with a trained scale and shift. Training uses the statistics of the whole
/// batch, which are all-reduced and so exact over all replicas. Prediction uses running statistics, kept beside the
/// parameters: after each step running = (1 - momentum) running + momentum batch.
struct BatchNorm {
  static constexpr const char* kName = "norm";
  double momentum = 0.1;
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// dropout in training, x itself otherwise. The random numbers follow from the seed of the training.
struct Dropout {
  static constexpr const char* kName = "dropout";
  double rate = 0.5;

  Value operator()(Value x) const;
};

}  // namespace troupe
