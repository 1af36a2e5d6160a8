#pragma once

#include <vector>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// Where the numbers of a reduction lie in the array: an element's place is that of its result plus that of its term.
struct ReductionWalks {
  Walk<1> results, terms;
};

/// How a reduction over some axes of an array is carried out.
class ReductionPlan {
 public:
  struct Sizes {
    /// True if neighbouring elements belong to different results.
    bool by_columns;
    /// True if the array is a matrix with a row for each term and a column for each result.
    bool is_matrix;
    std::int64_t results;
    /// Of each result.
    std::int64_t terms;
    /// Parts of the terms of each result that are reduced apart first, unless it is by columns.
    std::int64_t ranges;
  };

  /// Reduces an array of that shape, which is not empty, over `axes`.
  ReductionPlan(const Shape& shape, const std::vector<std::int64_t>& axes);

  const Sizes& sizes() const { return sizes_; }
  const ReductionWalks& walks() const { return walks_; }
  std::size_t scratch_bytes() const;

 private:
  Sizes sizes_;
  ReductionWalks walks_;
};

}  // namespace troupe::cuda
