#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Removes nodes that no output and no update depends on. Inputs stay, so the signature does not change.
Graph eliminate_dead_code(const Graph& graph);

/// A relu before a max_pool becomes part of the pooling, which applies it to the largest elements only, where nothing
/// else reads the relu: the same values and gradients.
Graph fuse_pool_and_relu(const Graph& graph);

/// A bias that is added to a product or convolution, and a relu after it, become part of that op, where nothing else
/// reads the values between them.
Graph fuse_bias_and_activation(const Graph& graph);

/// A value that is added to a batch norm, and a relu after it, become part of it, where nothing else reads the values
/// between them.
Graph fuse_batch_norm(const Graph& graph);

/// All of the above, for a forward graph whose gradient is taken afterwards.
Graph optimize_forward(const Graph& graph);

/// The same nodes and no outputs.
Graph without_outputs(const Graph& graph);

/// Sums over all replicas become what is summed: the graph of a replica that is the only one.
Graph without_all_reduce(const Graph& graph);

}  // namespace troupe
