#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/cuda/device/walk.cuh"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

/// The positions of elements in an array that is to be reduced: term t of result r (see ReductionPlan) lies at
/// results.find(r) + terms.find(t).
struct ReductionWalks {
  Walk<1> results, terms;
};

/// Describes how a reduction of an array over some of its axes is divided among the threads of a GPU. A result is the
/// combination of its terms, the elements that differ only in their indices along the reduced axes.
class ReductionPlan {
 public:
  struct Sizes {
    /// Whether neighboring elements belong to different results. The array is then reduced by ColumnSums.
    bool by_columns;
    /// Whether, in addition, the array is a matrix with a row for each term and a column for each result.
    bool is_matrix;
    std::int64_t results;
    /// The number of terms of each result.
    std::int64_t terms;
    /// The number of ranges into which the terms of each result are divided, unless by_columns is true. If there are
    /// several, a first stage reduces each range, and a second stage reduces the numbers of the ranges.
    std::int64_t ranges;
  };

  /// Plans the reduction over `axes` of an array with the given shape. The array must not be empty.
  ReductionPlan(const Shape& shape, const std::vector<std::int64_t>& axes) {
    std::vector<WalkAxis<1>> kept, reduced;
    std::int64_t stride = shape.elements();
    bool last_is_kept = false, is_matrix = true;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      stride /= shape[axis];
      const bool is_kept = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == axes.end();
      (is_kept ? kept : reduced).push_back({shape[axis], {stride}});
      if (shape[axis] <= 1) continue;
      if (last_is_kept && !is_kept) is_matrix = false;
      last_is_kept = is_kept;
    }
    walks_ = {Walk<1>(kept), Walk<1>(reduced)};
    const auto results = walks_.results.elements(), terms = walks_.terms.elements();
    sizes_ = {last_is_kept, last_is_kept && is_matrix, results, terms, ranges_of(results, terms)};
  }

  const Sizes& sizes() const { return sizes_; }
  const ReductionWalks& walks() const { return walks_; }
  std::size_t scratch_bytes() const {
    if (sizes_.by_columns) return ColumnSums<>(sizes_.terms, sizes_.results).scratch_bytes();
    return sizes_.ranges == 1 ? 0 : static_cast<std::size_t>(sizes_.results * sizes_.ranges) * sizeof(float);
  }

 private:
  /// Returns the number of ranges of terms: enough to occupy a large GPU, but not so many that a range has fewer than
  /// kTermsOfRange terms.
  static std::int64_t ranges_of(std::int64_t results, std::int64_t terms) {
    constexpr std::int64_t kTargetBlocks = 264, kTermsOfRange = 4096;
    const auto ranges = divided_up(kTargetBlocks, results);
    return std::max<std::int64_t>(1, std::min(ranges, terms / kTermsOfRange));
  }

  Sizes sizes_;
  ReductionWalks walks_;
};

/// Combines load(result, term) over one range of the terms of a result, and passes the combined number to finish(row,
/// combined). for_each_row() must call it with row = result * ranges + range.
template <class Combine, class Load, class Finish>
struct ReduceRange {
  Load load;
  Finish finish;
  std::int64_t terms, ranges, terms_of_range;

  template <class Threads>
  __device__ void operator()(Threads threads, std::int64_t row) const {
    const Combine combine{};
    const auto result = ranges == 1 ? row : row / ranges;
    const auto begin = (row - result * ranges) * terms_of_range;
    const auto end = begin + terms_of_range < terms ? begin + terms_of_range : terms;
    float combined = Combine::kNone;
    auto term = begin + threads.lane();
    // Loads several terms at a time, so that the loads overlap.
    for (; term + 3 * Threads::kCount < end; term += 4 * Threads::kCount) {
      float numbers[4];
      for (int i = 0; i < 4; ++i) numbers[i] = load(result, term + i * Threads::kCount);
      for (const auto number : numbers) combined = combine(combined, number);
    }
    for (; term < end; term += Threads::kCount) combined = combine(combined, load(result, term));
    combined = threads.reduce(combined, combine);
    if (threads.lane() == 0) finish(row, combined);
  }
};

/// Stores the combined number of a result or of a range.
struct StoreNumber {
  float* numbers;
  __device__ void operator()(std::int64_t i, float number) const { numbers[i] = number; }
};
/// Loads the combined number of a range, as a term of the second stage.
struct LoadPart {
  const float* parts;
  std::int64_t ranges;
  __device__ float operator()(std::int64_t result, std::int64_t range) const { return parts[result * ranges + range]; }
};

/// Adapts load(result, term) to the terms function of ColumnSums, whose rows are terms and whose columns are results.
template <class Load>
struct LoadForColumn {
  Load load;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    numbers[0] = load(column, row);
  }
};
/// Adapts finish(result, combined) to the finish function of ColumnSums.
template <class Finish>
struct FinishColumn {
  Finish finish;
  __device__ void operator()(std::int64_t column, const float (&combined)[1]) const { finish(column, combined[0]); }
};

/// Launches a reduction, which always combines in the same order. On the device, load(result, term) must return a
/// number, and finish(result, combined) receives the combined number of a result.
template <class Combine, class Load, class Finish>
void reduce(const Launch& where, const ReductionPlan& plan, const Load& load, const Finish& finish) {
  const auto& [by_columns, is_matrix, results, terms, ranges] = plan.sizes();
  if (by_columns) {
    const ColumnSums<1, Combine> sums(terms, results);
    const FinishColumn<Finish> finish_column{finish};
    if constexpr (requires { typename Load::Element; })
      if (is_matrix)
        return sums.run(where, where.scratch, ElementTerms<typename Load::Element>{load.x, results}, finish_column);
    sums.run(where, where.scratch, LoadForColumn<Load>{load}, finish_column);
  } else if (ranges == 1) {
    for_each_row(where, results, terms, ReduceRange<Combine, Load, Finish>{load, finish, terms, 1, terms});
  } else {
    auto* parts = reinterpret_cast<float*>(where.scratch);
    const auto terms_of_range = divided_up(terms, ranges);
    for_each_row(where, results * ranges, terms_of_range,
                 ReduceRange<Combine, Load, StoreNumber>{load, {parts}, terms, ranges, terms_of_range});
    for_each_row(where, results, ranges,
                 ReduceRange<Combine, LoadPart, Finish>{{parts, ranges}, finish, ranges, 1, ranges});
  }
}

/// Loads an element of an array, as the load function of reduce().
template <class T = float>
struct LoadElement {
  using Element = T;
  ReductionWalks walks;
  const T* x;
  __device__ float operator()(std::int64_t result, std::int64_t term) const {
    return load(x, walks.results.find(result) + walks.terms.find(term));
  }
};

}  // namespace troupe::cuda
