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

/// batch_norm of the last axis, with a trained scale and shift. In training by the statistics of the whole batch, exact
/// over all replicas, which are reduced for it; else by running ones, kept beside the parameters: after a step
/// (1 - momentum) times the old one plus momentum times that of the batch.
struct BatchNorm {
  static constexpr const char* kName = "norm";
  double momentum = 0.1;
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// dropout in training, else x itself. The random numbers follow from the seed of the training.
struct Dropout {
  static constexpr const char* kName = "dropout";
  double rate = 0.5;

  Value operator()(Value x) const;
};

}  // namespace troupe
