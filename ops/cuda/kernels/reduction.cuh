#pragma once

#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/reduction.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

/// Combines load(result, term) over a range of the terms of every result. Calls finish(result * ranges + range,
/// combined).
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
    // Several terms at a time, so that their loads overlap.
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

/// Stores the combined number of a result or of a part.
struct StoreNumber {
  float* numbers;
  __device__ void operator()(std::int64_t i, float number) const { numbers[i] = number; }
};
/// Loads the combined number of a part, as a term of the second stage.
struct LoadPart {
  const float* parts;
  std::int64_t ranges;
  __device__ float operator()(std::int64_t result, std::int64_t range) const { return parts[result * ranges + range]; }
};

/// `load` and `finish` with the signatures of ColumnSums.
template <class Load>
struct LoadForColumn {
  Load load;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    numbers[0] = load(column, row);
  }
};
template <class Finish>
struct FinishColumn {
  Finish finish;
  __device__ void operator()(std::int64_t column, const float (&combined)[1]) const { finish(column, combined[0]); }
};

/// Runs a reduction, always in the same order. On the device, load(result, term) returns a number, and finish(result,
/// combined) takes the combined numbers of a result.
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
    const auto terms_of_range = (terms + ranges - 1) / ranges;
    for_each_row(where, results * ranges, terms_of_range,
                 ReduceRange<Combine, Load, StoreNumber>{load, {parts}, terms, ranges, terms_of_range});
    for_each_row(where, results, ranges,
                 ReduceRange<Combine, LoadPart, Finish>{{parts, ranges}, finish, ranges, 1, ranges});
  }
}

/// Loads an element of the reduced array.
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
