#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Adds nodes that compute the gradient of the scalar `y` with respect to every value of `wrt` (reverse-mode
/// accumulation; contributions are added in the order in which the readers stand in the graph, last first). A value
/// that y does not depend on gets zeros. Throws Error if y is not a float32 scalar or an op on the way has no gradient.
std::vector<Value> gradients(Value y, std::span<const Value> wrt);

/// The graph with the gradients of output `loss` with respect to all trained parameters added, as outputs named
/// `gradient/` and the parameter's name.
Graph gradient(Graph graph, const std::string& loss);

}  // namespace troupe
