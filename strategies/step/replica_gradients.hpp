#pragma once

#include <span>
#include <vector>

#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// The values that the backward pass of one replica makes.
struct ReplicaGradients {
  /// A scalar: 0 if the loss is finite, -1 otherwise. The sum over replicas is 0 only if the loss of every replica is
  /// finite.
  Value loss_is_finite;
  /// The trained parameters and their gradients, in the order in which the backward pass makes these.
  std::vector<Value> parameters, gradients;
  /// The gradients of the further values of add_gradients(), in their order.
  std::vector<Value> further;
};

/// Adds the gradients of the loss of a forward graph: of the trained parameters and of `further` values. Throws Error
/// if there is nothing to train.
ReplicaGradients add_gradients(GraphBuilder& forward, const Optimizer& optimizer, std::span<const Value> further = {});

/// The flag of an update, which is made only if the loss of every replica is finite. `sum` is the sum of loss_is_finite
/// over the replicas.
Value every_loss_is_finite(Value sum);

}  // namespace troupe
