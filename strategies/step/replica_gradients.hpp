#pragma once

#include <span>
#include <vector>

#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// What the backward pass of one replica makes.
struct ReplicaGradients {
  /// A scalar: 0, or -1 where the loss is not finite, so that the sum over replicas is 0 only if the loss of every
  /// replica is finite.
  Value verdict;
  /// Those that are trained, and their gradients: the one that the backward pass makes first in front.
  std::vector<Value> parameters, gradients;
  /// Those of further values that were asked for, in that order.
  std::vector<Value> further;
};

/// Adds the gradients of the loss of a forward graph. Throws Error if nothing can be trained.
ReplicaGradients add_gradients(GraphBuilder& forward, const Optimizer& optimizer, std::span<const Value> further = {});

/// The flag by which an update is made, from the sum of the replicas' verdicts.
Value all_agree(Value sum_of_verdicts);

}  // namespace troupe
