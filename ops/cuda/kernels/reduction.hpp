#pragma once

#include <vector>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The positions of a reduction's numbers in the array: the position of an element is that of its result plus that of
/// its term.
struct ReductionWalks {
  Walk<1> results, terms;
};

/// The division of a reduction over some axes of an array.
class ReductionPlan {
 public:
  struct Sizes {
    /// Whether neighboring elements belong to different results.
    bool by_columns;
    /// Whether the array is a matrix with a row for each term and a column for each result.
    bool is_matrix;
    std::int64_t results;
    /// The terms of each result.
    std::int64_t terms;
    /// The parts into which the terms of each result are divided, unless it is reduced by columns. The parts are
    /// reduced first.
    std::int64_t ranges;
  };

  /// Reduces a non-empty array of that shape over `axes`.
  ReductionPlan(const Shape& shape, const std::vector<std::int64_t>& axes);

  const Sizes& sizes() const { return sizes_; }
  const ReductionWalks& walks() const { return walks_; }
  std::size_t scratch_bytes() const;

 private:
  Sizes sizes_;
  ReductionWalks walks_;
};

}  // namespace troupe::cuda
