#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Passes: functions that make a new graph from a graph.

/// Removes nodes on which no output and no update depends. Unused inputs of the graph stay, so the signature of the
/// graph does not change.
Graph eliminate_dead_code(const Graph& graph);
/// Removes inputs that no node reads and that are no outputs, except the batch info.
Graph without_unread_inputs(const Graph& graph);

/// Fuses a relu into the max_pool that reads it, if nothing else reads the relu. The max_pool then applies the relu to
/// the largest elements only. Values and gradients keep their bits.
Graph fuse_pool_and_relu(const Graph& graph);

/// Fuses the addition of a bias to the result of a matmul or conv2d, and the relu after it, into the matmul or conv2d,
/// if nothing else reads the values between these nodes. The bias or the relu may be missing.
Graph fuse_bias_and_activation(const Graph& graph);

/// Fuses the addition of a value of the same shape to the result of a batch_norm, and the relu after it, into the
/// batch_norm, if nothing else reads the values between these nodes. The addition or the relu may be missing.
Graph fuse_batch_norm(const Graph& graph);

/// Makes all convolutions, and the gradients that are added later, direct; see Conv2dOptions::direct.
Graph direct_convolutions(const Graph& graph);

/// Optimizes a forward graph before its gradient is added: eliminates dead code, then applies fuse_pool_and_relu,
/// fuse_bias_and_activation and fuse_batch_norm, and direct_convolutions if exact_convolutions() is set.
Graph optimize_forward(const Graph& graph);

/// Merges updates of one op with the same attributes, learning rate and other shared inputs into one op that updates
/// all of their parameters. An update whose new values are read stays single, and so does the update of a row-sparse
/// parameter, which skips rows with a zero gradient. Updates whose gradients come from different collectives stay
/// apart, so that the first parameters are updated while the last gradients are still being summed.
Graph merge_updates(const Graph& graph);

/// Fuses the gradient of a relu with the float32 product that computes its dy, if nothing else reads the product. The
/// sum over the rows of the gradient of the relu, which is the gradient of a bias, stays a separate op, so that other
/// readers of the gradient do not wait for the sum.
Graph fuse_relu_products(const Graph& graph);

/// Fuses the gradient of a relu with the sum of that gradient over all axes but the last, which is the gradient of a
/// bias. It must come after fuse_relu_products, whose fused gradients it leaves alone.
Graph fuse_backward_epilogues(const Graph& graph);

/// Computes the gradient of a softmax cross-entropy of up to 1,024 classes, or of the batch_mean of the losses, from
/// the logits instead of the log probabilities. The result has the same bits. The gradient then does not wait for the
/// losses.
Graph cross_entropy_of_logits(const Graph& graph);

/// Fuses a gelu_tanh into the matmul that computes its input, if that matmul has no relu. Then fuses the gradient of
/// each fused gelu_tanh with the product that computes the dy of that gradient, if nothing else reads that product, and
/// with the sum of a float32 gradient over its rows.
Graph fuse_gelu_products(const Graph& graph);

/// Fuses element-wise ops whose results have one shape into one op, fused_elementwise, if nothing else reads the values
/// between them. A fused_elementwise consists of up to 16 ops and has up to 8 inputs.
Graph fuse_elementwise(const Graph& graph);

/// The dtype in which compute_in() leaves images in the batch norms between convolutions: float32, or the 16-bit dtype
/// with statistics in float32. Only CPU kernels take 16-bit images; see HalfRole::image_norm.
enum class NormDType { float32, narrow };

/// Changes a training graph to compute in a 16-bit float `dtype` between products, and adds casts between 16-bit and
/// float32 values. Products, convolutions and their gradients take 16-bit factors if one factor has the batch axis B.
/// reduce_sum and reduce_mean read 16-bit values and give float32. Element-wise ops, pools and other ops whose HalfRole
/// (ops/graph/op.hpp) is `follows` take 16 bits if all of their float32 inputs with the batch axis B are 16-bit.
/// Everything else stays float32: parameters, sums over the batch such as the gradients of parameters, and the outputs
/// of the graph. All 16-bit readers of a parameter share one cast.
Graph compute_in(const Graph& graph, DType dtype, NormDType norms = NormDType::float32);

/// Fuses each float32 product that sums over the rows of a batch, the gradient of a matrix, with a largest_magnitude
/// that reads it and has a finite `bound` of at least 2^64, as those have that decide whether a step is applied. The
/// largest_magnitude then reads a scalar in place of the product, and its result may differ below 2^64; see
/// product_and_magnitude in ops/fused/products.cpp. All other values keep their bits.
Graph fuse_magnitudes(const Graph& graph);

/// Multiplies tables instead of the rows that are gathered from them, where a sample has at least as many indices as
/// the table has rows: gather(table, i) * w becomes gather(table * w, i). The gradients of the table and of w are then
/// products of sums by index, which have as many rows as the table. The sums have another order, so their last bits
/// change. A table with an infinite element or a NaN, even in a row that no index names, gives gradients of w with NaN.
Graph multiply_tables(const Graph& graph);

/// Optimizes a whole graph for the host: applies multiply_tables, with a 16-bit `compute` dtype compute_in, and
/// fuse_magnitudes.
Graph optimize_for_host(const Graph& graph, DType compute = DType::float32);

/// Optimizes a whole graph for a device on which every kernel launch has a cost. With a 16-bit `compute` dtype it
/// applies compute_in first. It then applies fuse_relu_products, fuse_backward_epilogues, fuse_gelu_products if
/// products round their factors to TF32 or 16 bits, cross_entropy_of_logits, fuse_elementwise and merge_updates. The
/// fused ops give the bits of the single ops, with three exceptions: a GPU library may sum the gradient of a bias in
/// another order, it may compute a gelu_tanh differently, and values inside fused ops are not rounded to 16 bits.
Graph optimize_for_device(const Graph& graph, DType compute = DType::float32);

/// Returns a copy of the graph with all nodes, but without outputs.
Graph without_outputs(const Graph& graph);

/// Returns a copy of the graph for a single replica: the readers of an all_reduce read its input instead, and those of
/// an all_gather a view of its input. Throws Error if an all_gather is for several replicas.
Graph without_all_reduce(const Graph& graph);

}  // namespace troupe
