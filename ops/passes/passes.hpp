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

/// Updates of one kind with the same attributes, learning rate and so on become one op that updates all their
/// parameters, unless something reads what they update. Row-sparse ones stay apart, and those whose gradients come from
/// different collectives: the first can be updated while the last are still summed.
Graph merge_updates(const Graph& graph);

/// The gradient of a relu and the float32 product whose result it alone reads become one op. Sums of the gradient stay
/// apart, so that what else needs it does not wait for them.
Graph fuse_relu_products(const Graph& graph);

/// After that: the gradient of another relu and its sum over all axes but the last, the gradient of a bias, become one
/// op.
Graph fuse_backward_epilogues(const Graph& graph);

/// The gradient of a softmax cross-entropy of few classes, or of its mean over the batch, is computed from the logits,
/// to the same bits, instead of from the log probabilities: it need not wait for the loss.
Graph cross_entropy_of_logits(const Graph& graph);

/// A gelu_tanh becomes part of the product before it; then its gradient, with the sums of the rows, becomes part of the
/// product whose result alone it reads.
Graph fuse_gelu_products(const Graph& graph);

/// Element-wise ops on values of one shape become one op, where nothing else reads the values between them.
Graph fuse_elementwise(const Graph& graph);

/// A whole training graph in which a 16-bit dtype lies between products, with casts where it meets float32. Products,
/// convolutions and their gradients take 16-bit factors; element-wise ops, pools and the like take 16 bits if all that
/// they read of the batch has them. Everything else stays float32, as do parameters, which are cast once, what is
/// summed over the batch, such as their gradients, and the outputs of the graph.
Graph compute_in(const Graph& graph, DType dtype);

/// fuse_relu_products, fuse_backward_epilogues, cross_entropy_of_logits, fuse_elementwise and merge_updates, for a
/// whole graph on a device for which every kernel has a price of its own; where products are rounded to TF32 or 16
/// bits, fuse_gelu_products, too. The results keep their bits, but where a GPU's library sums the gradients of biases
/// in an order of its own, or computes a gelu_tanh. With a 16-bit `compute` dtype compute_in comes before, and values
/// that fused ops keep for themselves are not rounded.
Graph optimize_for_device(const Graph& graph, DType compute = DType::float32);

/// The same nodes and no outputs.
Graph without_outputs(const Graph& graph);

/// Sums over all replicas become what is summed: the graph of a replica that is the only one.
Graph without_all_reduce(const Graph& graph);

}  // namespace troupe
