#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/passes/passes.hpp"

namespace troupe {

// fuse_relu_products comes before fuse_backward_epilogues, so that the sums of the gradients in its ops stay ops of
// their own.
Graph optimize_for_device(const Graph& graph, DType compute) {
  const bool narrow = is_16_bit(compute);
  auto fused = fuse_backward_epilogues(fuse_relu_products(narrow ? compute_in(graph, compute) : graph));
  // Products in full float32 have no kernel that computes a gelu, so there fuse_elementwise takes the gelu.
  if (narrow || may_use_tf32()) fused = fuse_gelu_products(fused);
  return merge_updates(fuse_elementwise(cross_entropy_of_logits(fused)));
}

}  // namespace troupe
