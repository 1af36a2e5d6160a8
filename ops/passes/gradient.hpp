#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Adds nodes that compute the gradients of y, which must be a float32 scalar, with respect to the values `wrt`, by
/// reverse-mode differentiation. Returns the gradients in the order of `wrt`. The contributions of the readers of a
/// value are added from the last reader in the graph to the first. A value on which y does not depend gets zeros.
/// Throws Error if y is not a float32 scalar, or an op between a value of `wrt` and y has no gradient.
std::vector<Value> gradients(Value y, std::span<const Value> wrt);
inline std::vector<Value> gradients(Value y, std::initializer_list<Value> wrt) {
  return gradients(y, std::span(wrt.begin(), wrt.size()));
}

/// For every value of the graph, by its id: true if y depends on the value.
std::vector<bool> dependencies_of(const Graph& graph, ValueId y);

/// Returns the graph with the gradients of its output `loss` with respect to all trained parameters added. The gradient
/// of parameter `w` is the output `gradient/w`. Throws Error as gradients() does, or if there is no output `loss`.
Graph gradient(Graph graph, const std::string& loss);

}  // namespace troupe
