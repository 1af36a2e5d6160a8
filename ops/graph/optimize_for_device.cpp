#include "troupe/ops/graph/passes.hpp"

namespace troupe {

// Sums of gradients are found before their gradients become part of others.
Graph optimize_for_device(const Graph& graph, DType compute) {
  if (is_16_bit(compute)) return optimize_for_device(compute_in(graph, compute));
  const auto fused = fuse_gelu_products(fuse_relu_products(fuse_backward_epilogues(graph)));
  return merge_updates(fuse_elementwise(fused));
}

}  // namespace troupe
