#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Without the nodes that no output and no update depends on. Inputs stay, so that the signature does not change.
Graph eliminate_dead_code(const Graph& graph);

/// max_pool(relu(x)) becomes relu(max_pool(x)), where nothing else reads the relu: the same values and gradients from a
/// fraction of the elements.
Graph pool_before_relu(const Graph& graph);

/// A bias that is added to a product or convolution, and a relu after it, become part of that op, where nothing else
/// reads what lies between.
Graph fuse_bias_and_activation(const Graph& graph);

/// All of the above that a forward graph wants before its gradient is taken.
Graph optimize_forward(const Graph& graph);

}  // namespace troupe
