#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test {

/// A random program, kept twice: as functions that build a graph, and as functions that compute in double precision.
/// The second form shares no memory, fuses nothing and knows no gradient.
class RandomGraph {
 public:
  /// The same seed gives the same program.
  explicit RandomGraph(std::uint64_t seed);

  std::int64_t rows() const { return rows_; }

  /// Inputs and parameters `x0`, `x1`, ..., outputs `y0`, `y1`, ... and `loss`.
  Graph graph() const;
  /// The elements of all sources, in order.
  const Arrays& sources() const { return sources_; }
  /// True if the loss is differentiated by source i.
  bool differentiable(std::size_t i) const { return is_float_[i]; }
  /// All outputs given those of the sources, the loss last.
  Arrays compute(const Arrays& sources) const;

 private:
  struct Item {
    int source = -1;  // or the step below
    std::vector<int> inputs;
    std::function<Value(const std::vector<Value>&)> build;
    std::function<Array(const Arrays&)> compute;
    bool has_gradient = true;
    Shape shape;  // symbolic
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool often() { return below(3) > 0; }
  int any_item() { return static_cast<int>(below(items_.size())); }
  int add_source(const Shape& shape, bool is_parameter, std::int64_t classes = 0);
  /// Adds a step unless its numbers are large or it has too many elements.
  bool add_step(Item item, const Shape& shape);
  void add_random_step();

  void add_binary();
  void add_unary();
  void add_reduction();
  void add_product();
  void add_image_op();
  void add_loss_op();
  void add_views();
  void add_math();
  void add_moving();
  void add_norm();
  void add_selection();
  void add_attention();
  bool differentiable_item(int item) const { return items_[static_cast<std::size_t>(item)].has_gradient; }
  const Shape& shape_of(int item) const { return items_[static_cast<std::size_t>(item)].shape; }

  std::mt19937_64 random_;
  std::int64_t rows_ = 0;
  std::vector<Item> items_;
  Arrays sources_;
  std::vector<bool> is_float_;
  std::vector<bool> is_parameter_;
  Arrays values_;  // of items, for the sources as drawn
  std::vector<int> outputs_;
};

}  // namespace troupe::ops_test
