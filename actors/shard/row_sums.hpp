#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Sums the gradients of each row of a parameter, in the order in which dense gradients are summed: first the gradients
/// of one lookup in the order of add(), then the lookups of a worker in reverse order, then the workers.
class RowSums {
 public:
  explicit RowSums(std::int64_t width) : width_(static_cast<std::size_t>(width)) {}

  /// The gradient for one index, which is added to the sum of its row. The `width` elements of `gradient` must live
  /// until sum() has returned.
  struct Place {
    std::int64_t row;
    std::int32_t worker;  ///< workers are summed in ascending order
    std::int32_t lookup;
    const float* gradient;
  };
  void clear();
  void add(const Place& place) { places_.push_back(place); }
  /// Adds the factor of one worker's gradients in the sum. The n-th call is for worker n, counted from 0.
  void add_weight(float weight) { weights_.push_back(weight); }
  /// Computes the sums from all added gradients. Every worker in them must have a weight.
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
