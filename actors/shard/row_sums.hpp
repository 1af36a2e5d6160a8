#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

/// Sums gradients of rows by row. The order is that in which dense gradients are summed: the places of one lookup one
/// after the other, the lookups of a worker last first, then the workers.
class RowSums {
 public:
  explicit RowSums(std::int64_t width) : width_(static_cast<std::size_t>(width)) {}

  /// One place of a lookup: the gradient is `width` elements that must stay until sum().
  struct Place {
    std::int64_t row;
    std::int32_t worker;  ///< they are summed in the order of these numbers
    std::int32_t lookup;
    const float* gradient;
  };
  void clear();
  void add(const Place& place) { places_.push_back(place); }
  /// What the sum of a worker's gradients is multiplied by, from the first to the last.
  void add_weight(float weight) { weights_.push_back(weight); }
  /// Adds everything up.
  void sum();

  /// The rows that have a gradient, ascending.
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// That of rows()[i].
  const float* gradient(std::size_t i) const { return sums_.data() + i * width_; }
  float* gradient(std::size_t i) { return sums_.data() + i * width_; }

 private:
  using Places = std::vector<Place>::const_iterator;
  Places sum_row(Places place, float* total);
  Places sum_worker(Places place);
  Places sum_lookup(Places place);

  std::size_t width_;
  std::vector<Place> places_;
  std::vector<float> weights_;
  std::vector<std::int64_t> rows_;
  std::vector<float> sums_, of_worker_, of_lookup_;
};

}  // namespace troupe
