#pragma once

#include <optional>

#include "troupe/ops/nn/schedule.hpp"

namespace troupe {

/// Inputs of the update of one parameter.
struct UpdateInputs {
  Value parameter;
  Value gradient;       ///< of the whole batch
  Value learning_rate;  ///< scalar
  Value batch_info;     ///< int64[4]: rows, global rows, first global row, number of the update
  Value factor;         ///< scalar that the gradient is multiplied by (clipping), or invalid
  Value apply_if;       ///< float32 scalar flag: unless above 0, parameter and state must not change; or invalid
};

// In all rules: `lr` is the learning rate, `clip_norm` the largest global norm of the gradients, beyond which all are
// scaled down, and `clip_value` the largest size of an element of a gradient; none: no clipping.

/// Stochastic gradient descent. With momentum m: v = m v + g, p = p - lr v; with Nesterov: p = p - lr (g + m v). Weight
/// decay w adds w p to the gradient.
struct Sgd {
  Schedule lr = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Kingma and Ba, "Adam: a method for stochastic optimization" (ICLR 2015), algorithm 1. Weight decay adds w p to the
/// gradient.
struct Adam {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Adam with a weight decay apart from the gradient, p = p - lr w p: Loshchilov and Hutter, "Decoupled weight decay
/// regularization" (ICLR 2019).
struct AdamW {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Adam's step scaled, for each parameter, to the size of the parameter: You and others, "Large batch optimization for
/// deep learning" (ICLR 2020). The scale is 1 where parameter or step is 0.
struct Lamb {
  Schedule lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Tieleman and Hinton (2012): v = decay v + (1 - decay) g^2, p = p - lr g / (sqrt(v) + epsilon). Weight decay w adds
/// w p to the gradient.
struct RmsProp {
  Schedule lr = 0.01;
  double decay = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Duchi, Hazan and Singer, "Adaptive subgradient methods" (JMLR 2011): v = v + g^2, p = p - lr g / (sqrt(v) +
/// epsilon). Weight decay w adds w p to the gradient.
struct Adagrad {
  Schedule lr = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

}  // namespace troupe
