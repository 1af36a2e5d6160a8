#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test {

/// A random program in two forms: functions that build a graph, and a plain interpreter in double precision, which
/// shares no memory, fuses nothing and has no gradients.
class RandomGraph {
 public:
  /// The same seed gives the same program.
  explicit RandomGraph(std::uint64_t seed);

  std::int64_t rows() const { return rows_; }

  /// The graph with inputs and parameters `x0`, `x1`, ..., and outputs `y0`, `y1`, ... and `loss`.
  Graph graph() const;
  /// The elements of all inputs and parameters, in order.
  const Arrays& sources() const { return sources_; }
  /// True if source i is a float, so that the loss has a gradient with respect to it.
  bool differentiable(std::size_t i) const { return is_float_[i]; }
  /// The interpreter: all outputs, the loss last, given the elements of all sources.
  Arrays compute(const Arrays& sources) const;

 private:
  /// A source, or a step that computes a value from other items.
  struct Item {
    int source = -1;  // the number of the source; -1 for a step
    std::vector<int> inputs;
    std::function<Value(const std::vector<Value>&)> build;
    std::function<Array(const Arrays&)> compute;
    bool has_gradient = true;
    Shape shape;  // symbolic
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool often() { return below(3) > 0; }
  int any_item() { return static_cast<int>(below(items_.size())); }
  /// Adds a source of floats, or of labels below `classes` if that is not 0.
  int add_source(const Shape& shape, bool is_parameter, std::int64_t classes = 0);
  /// Adds a step. Returns false, and adds nothing, if its numbers are large or it has too many elements.
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
  bool differentiable_item(int item) const { return items_[item].has_gradient; }
  const Shape& shape_of(int item) const { return items_[item].shape; }

  std::mt19937_64 random_;
  std::int64_t rows_ = 0;
  std::vector<Item> items_;
  Arrays sources_;
  std::vector<bool> is_float_;
  std::vector<bool> is_parameter_;
  Arrays values_;  // by item, computed from sources_
  std::vector<int> outputs_;
};

}  // namespace troupe::ops_test
