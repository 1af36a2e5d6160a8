#pragma once

#include <optional>

#include "troupe/ops/nn/schedule.hpp"

namespace troupe {

/// The values of a graph from which a rule adds the update of one parameter.
struct UpdateInputs {
  Value parameter;
  Value gradient;       ///< gradient of the loss of the whole batch
  Value learning_rate;  ///< float32 scalar
  Value batch_info;     ///< int64[4], see BatchInfo; its step is the number of the update
  Value factor;         ///< float32 scalar by which clipping multiplies the gradient; invalid: no clipping
  Value apply_if;       ///< float32 scalar: if not above 0, no value changes; invalid: always update
};

// Members of all rules: `lr` is the learning rate, a number or a Schedule. `clip_value` limits the absolute value of
// each element of a gradient. `clip_norm` then limits the global norm of the gradients of all parameters that the rule
// updates: if the norm exceeds the limit, all of these gradients are scaled so that the norm equals the limit. A limit
// without a value does not clip. update() throws Error if a member is out of range.

/// Stochastic gradient descent: p = p - lr g for a parameter p with gradient g. With momentum m: v = m v + g, p = p -
/// lr v; with Nesterov's rule, which needs a momentum: p = p - lr (g + m v). Weight decay w adds w p to the gradient.
struct Sgd {
  Schedule lr = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Adam. Weight decay w adds w p to the gradient of a parameter p. Source: Kingma and Ba, "Adam: a method for
/// stochastic optimization" (ICLR 2015), algorithm 1.
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

/// AdamW: Adam with a weight decay w that does not enter the gradient. Before the step of Adam, p = p - lr w p for a
/// parameter p. Source: Loshchilov and Hutter, "Decoupled weight decay regularization" (ICLR 2019).
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

/// Lamb: Adam whose step for each parameter is scaled to the norm of the parameter. Weight decay w adds w p to the step
/// of a parameter p before the scaling. The step is not scaled if the norm of the parameter or of the step is 0.
/// update() throws Error for a row-sparse parameter. Source: You and others, "Large batch optimization for deep
/// learning" (ICLR 2020).
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

/// RMSProp: v = decay v + (1 - decay) g^2, p = p - lr g / (sqrt(v) + epsilon) for a parameter p with gradient g. Weight
/// decay w adds w p to the gradient. Source: Tieleman and Hinton (2012).
struct RmsProp {
  Schedule lr = 0.01;
  double decay = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

/// Adagrad: v = v + g^2, p = p - lr g / (sqrt(v) + epsilon) for a parameter p with gradient g. Weight decay w adds w p
/// to the gradient. Source: Duchi, Hazan and Singer, "Adaptive subgradient methods" (JMLR 2011).
struct Adagrad {
  Schedule lr = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
  std::optional<double> clip_norm = {};
  std::optional<double> clip_value = {};

  void update(const UpdateInputs& inputs) const;
};

}  // namespace troupe
