#pragma once

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/passes/overwrites.hpp"
#include "troupe/ops/passes/readers.hpp"

namespace troupe {

/// Finds products of rows by one matrix, which can do more to their result. The graph must outlive it.
class RowProducts {
 public:
  explicit RowProducts(const Graph& graph) : graph_(graph), readers_(graph), overwrites_(graph) {}

  const Readers& readers() const { return readers_; }
  /// Whether node i multiplies rows by one matrix, with a relu in it or without.
  bool is_product(int i, bool relu) const;
  /// Whether a product without a bias, which node i alone reads, can become part of it.
  bool can_move_to(int product, int i) const;

 private:
  const Node& node(int i) const { return graph_.nodes()[static_cast<std::size_t>(i)]; }

  const Graph& graph_;
  Readers readers_;
  Overwrites overwrites_;
};

}  // namespace troupe
