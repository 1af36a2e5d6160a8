#pragma once

#include <optional>

#include "troupe/ops/nn/schedule.hpp"

namespace troupe {

/// The inputs of the update of one parameter.
struct UpdateInputs {
  Value parameter;
  Value gradient;       ///< gradient of the whole batch
  Value learning_rate;  ///< scalar
  Value batch_info;     ///< int64[4]: rows, global rows, first global row, update number
  Value factor;         ///< scalar factor of the gradient (clipping), or invalid
  Value apply_if;       ///< float32 scalar: unless above 0, parameter and state keep their bits; or invalid
};

// Fields of all rules: `lr` is the learning rate. `clip_norm` is the largest global norm of the gradients; if it is
// exceeded, all gradients are scaled down. `clip_value` is the largest absolute value of an element of a gradient.
// Without a value there is no clipping.

/// Stochastic gradient descent. With momentum m: v = m v + g, p = p - lr v; with Nesterov's rule: p = p - lr (g + m v).
/// Weight decay w adds w p to the gradient.
struct Sgd {
  Schedule lr = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Adam. Weight decay w adds w p to the gradient. Source: Kingma and Ba, "Adam: a method for stochastic optimization"
/// (ICLR 2015), algorithm 1.
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

/// Adam with a weight decay apart from the gradient: p = p - lr w p. Source: Loshchilov and Hutter, "Decoupled weight
/// decay regularization" (ICLR 2019).
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

/// Adam with each parameter's step scaled to the norm of the parameter. The scale is 1 if the norm of the parameter or
/// of the step is 0. Source: You and others, "Large batch optimization for deep learning" (ICLR 2020).
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

/// v = decay v + (1 - decay) g^2, p = p - lr g / (sqrt(v) + epsilon). Weight decay w adds w p to the gradient. Source:
/// Tieleman and Hinton (2012).
struct RmsProp {
  Schedule lr = 0.01;
  double decay = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// v = v + g^2, p = p - lr g / (sqrt(v) + epsilon). Weight decay w adds w p to the gradient. Source: Duchi, Hazan and
/// Singer, "Adaptive subgradient methods" (JMLR 2011).
struct Adagrad {
  Schedule lr = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

}  // namespace troupe
