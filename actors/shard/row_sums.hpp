#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Sums the gradients of each row, in the order in which dense gradients are summed: the places of one lookup in their
/// order, the lookups of a worker in reverse order, then the workers.
class RowSums {
 public:
  explicit RowSums(std::int64_t width) : width_(static_cast<std::size_t>(width)) {}

  /// One place of a lookup. The gradient has `width` elements, which must live until sum().
  struct Place {
    std::int64_t row;
    std::int32_t worker;  ///< workers are summed in ascending order
    std::int32_t lookup;
    const float* gradient;
  };
  void clear();
  void add(const Place& place) { places_.push_back(place); }
  /// Adds the factor of the sum of the next worker's gradients, from worker 0 on.
  void add_weight(float weight) { weights_.push_back(weight); }
  /// Computes the sums.
  void sum();

  /// The rows with a gradient, ascending.
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// The sum for rows()[i].
  const float* gradient(std::size_t i) const { return sums_.data() + i * width_; }
  float* gradient(std::size_t i) { return sums_.data() + i * width_; }

 private:
  void sum_worker(std::span<const Place> places);

  std::size_t width_;
  std::vector<Place> places_;
  std::vector<float> weights_;
  std::vector<std::int64_t> rows_;
  std::vector<float> sums_, of_worker_, of_lookup_;
};

}  // namespace troupe
