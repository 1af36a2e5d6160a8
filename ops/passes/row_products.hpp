#pragma once

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/passes/overwrites.hpp"
#include "troupe/ops/passes/readers.hpp"

namespace troupe {

/// Finds products of rows by one matrix that can be fused with other ops. The graph must outlive the object.
class RowProducts {
 public:
  explicit RowProducts(const Graph& graph) : graph_(graph), readers_(graph), overwrites_(graph) {}

  const Readers& readers() const { return readers_; }
  /// True if node i multiplies rows by one matrix, without a relu.
  bool is_product(int i) const;
  /// True if a product can be computed at the place of node i: it has no bias, node i is its only reader, and no update
  /// between them overwrites a factor.
  bool can_move_to(int product, int i) const;

 private:
  const Node& node(int i) const { return graph_.nodes()[i]; }

  const Graph& graph_;
  Readers readers_;
  Overwrites overwrites_;
};

}  // namespace troupe
