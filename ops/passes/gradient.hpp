#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Adds nodes that compute the gradients of the scalar y with respect to the values `wrt`, by reverse-mode
/// accumulation. The contributions of the readers of a value are added from the last reader in the graph to the first.
/// A value on which y does not depend gets zeros. Throws Error if y is not a float32 scalar, or an op between has no
/// gradient.
std::vector<Value> gradients(Value y, std::span<const Value> wrt);

/// The graph with the gradients of the output `loss` with respect to all trained parameters. The gradient of parameter
/// `w` is the output `gradient/w`.
Graph gradient(Graph graph, const std::string& loss);

}  // namespace troupe
