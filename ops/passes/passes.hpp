#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Passes: functions that make a new graph of a graph.

/// Removes nodes on which no output and no update depends. Inputs stay, so the signature of the graph does not change.
Graph eliminate_dead_code(const Graph& graph);

/// Fuses a relu into the max_pool after it, which applies the relu to the largest elements only, if nothing else reads
/// the relu. Values and gradients keep their bits.
Graph fuse_pool_and_relu(const Graph& graph);

/// Fuses the bias that is added to a product or convolution, and the relu after it, into that op, if nothing else reads
/// the values between them.
Graph fuse_bias_and_activation(const Graph& graph);

/// Fuses the value that is added to a batch norm, and the relu after it, into the batch norm, if nothing else reads the
/// values between them.
Graph fuse_batch_norm(const Graph& graph);

/// Eliminates dead code, then fuses pools, products, convolutions and batch norms with the ops around them, in a
/// forward graph whose gradient is taken afterwards.
Graph optimize_forward(const Graph& graph);

/// Merges updates of one kind with the same attributes, learning rate and other shared inputs into one op that updates
/// all of their parameters, unless something reads the new values. Row-sparse updates stay single. Updates whose
/// gradients come from different collectives stay apart, so that the first parameters are updated while the last
/// gradients are still being summed.
Graph merge_updates(const Graph& graph);

/// Fuses the gradient of a relu with the float32 product that computes its dy, if nothing else reads the product. The
/// sum of the gradient, which is the gradient of a bias, stays a separate op, so that other readers of the gradient do
/// not wait for it.
Graph fuse_relu_products(const Graph& graph);

/// Fuses the gradient of a relu with its sum over all axes but the last, the gradient of a bias. It comes after
/// fuse_relu_products, which takes precedence.
Graph fuse_backward_epilogues(const Graph& graph);

/// Computes the gradient of a softmax cross-entropy of up to 1,024 classes, or of its mean over the batch, from the
/// logits instead of the log probabilities, to the same bits. The gradient then does not wait for the loss.
Graph cross_entropy_of_logits(const Graph& graph);

/// Fuses a gelu_tanh into the product that computes its input. Then fuses the gradient of that gelu_tanh, with its sum
/// over the rows, into the product that computes its dy, if nothing else reads that product.
Graph fuse_gelu_products(const Graph& graph);

/// Fuses element-wise ops on values of one shape into one op, if nothing else reads the values between them.
Graph fuse_elementwise(const Graph& graph);

/// Computes a training graph with a 16-bit dtype between products, and casts where it meets float32. Products,
/// convolutions and their gradients take 16-bit factors. Element-wise ops, pools and the like (see HalfRole) take 16
/// bits if all of their inputs that derive from the batch have them. Everything else stays float32: parameters, which
/// are cast once, sums over the batch such as the gradients of parameters, and the outputs of the graph.
Graph compute_in(const Graph& graph, DType dtype);

/// Optimizes a whole graph for a device on which every kernel launch has a cost: fuse_relu_products,
/// fuse_backward_epilogues, cross_entropy_of_logits, fuse_elementwise and merge_updates, and fuse_gelu_products where
/// products are rounded to TF32 or 16 bits. The results keep their bits, except where the library of a GPU sums the
/// gradients of biases in another order or computes a gelu_tanh. With a 16-bit `compute` dtype compute_in comes first,
/// and the values inside fused ops are not rounded to 16 bits.
Graph optimize_for_device(const Graph& graph, DType compute = DType::float32);

/// The same nodes without outputs.
Graph without_outputs(const Graph& graph);

/// The graph of the only replica: every all_reduce is replaced by its input.
Graph without_all_reduce(const Graph& graph);

}  // namespace troupe
