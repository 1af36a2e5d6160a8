#pragma once

#include <functional>
#include <optional>

#include "troupe/ops/nn/schedule.hpp"

namespace troupe {

/// Inputs of the update of one parameter.
struct UpdateInputs {
  Value parameter;
  Value gradient;       ///< of the whole batch
  Value learning_rate;  ///< scalar
  Value batch_info;     ///< int64[4]: rows, global rows, first global row, step
  Value factor;         ///< scalar that the gradient is multiplied by (clipping), or invalid
  Value apply_if;       ///< float32 scalar flag: unless above 0, parameter and state must not change; or invalid
};

/// Stochastic gradient descent. With momentum m: v = m v + g, p = p - lr v; with Nesterov: p = p - lr (g + m v). Weight
/// decay w adds w p to the gradient.
struct Sgd {
  Schedule lr = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  /// The largest global norm of the gradients, beyond which all are scaled down; none: no clipping.
  std::optional<double> clip_norm = {};

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

  void update(const UpdateInputs& inputs) const;
};

/// A rule that updates parameters by ops of the graph: Sgd, Adam, or any copyable struct with members `lr`, `clip_norm`
/// and `update` like theirs.
class Optimizer {
 public:
  template <class Rule>
  Optimizer(Rule rule)  // NOLINT: a rule is an optimizer
      : schedule_(rule.lr),
        clip_norm_(rule.clip_norm),
        update_([rule = std::move(rule)](const UpdateInputs& inputs) { rule.update(inputs); }) {}

  /// Adds schedule, clipping and the updates of all parameters. With the flag `apply_if` (float32 scalar on the device,
  /// such as all_finite gives) parameters and states keep their bits unless it is above 0. Throws Error if an option is
  /// out of range.
  void apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
             Value apply_if = {}) const;

 private:
  Schedule schedule_;
  std::optional<double> clip_norm_;
  std::function<void(const UpdateInputs&)> update_;
};

}  // namespace troupe
