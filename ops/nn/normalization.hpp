#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// A layer that applies the op layer_norm over the last axis of x, with a trained scale and shift. Throws Error if x
/// has fewer than 2 axes.
struct LayerNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// A layer that applies the op rms_norm over the last axis of x, with a trained scale. Throws Error if x has fewer than
/// 2 axes.
struct RmsNorm {
  static constexpr const char* kName = "norm";
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// A layer that applies the op batch_norm over all axes of x but the last, with a trained scale and shift. A training
/// graph uses the mean and variance of the whole batch, for which an all-gather collects the moments of all replicas.
/// Other graphs use a running mean and variance, which are kept beside the parameters: each training step multiplies
/// them by (1 - momentum) and adds momentum times the mean and variance of the batch. A layer whose scale and shift are
/// both frozen (Optimizer::frozen) uses the running mean and variance in training, too, and leaves them as they are, as
/// in Keras. Throws Error if x has fewer than 2 axes or the momentum is not in [0, 1].
struct BatchNorm {
  static constexpr const char* kName = "norm";
  double momentum = 0.1;
  double epsilon = 1e-5;

  Value operator()(Value x) const;
};

/// A layer that applies the op dropout in a training graph, and returns x in other graphs. `rate` is the probability
/// with which an element is dropped. The random numbers depend on BuildOptions::seed. Throws Error if the rate is not
/// in [0, 0.999].
struct Dropout {
  static constexpr const char* kName = "dropout";
  double rate = 0.5;

  Value operator()(Value x) const;
};

}  // namespace troupe
