#include "troupe/ops/cuda/kernels/reduction.hpp"

#include <algorithm>

#include "troupe/ops/cuda/kernels/column_sums.cuh"

namespace troupe::cuda {

namespace {

/// The number of parts into which terms are divided: enough to occupy a large GPU, but with enough terms each.
std::int64_t ranges_of(std::int64_t results, std::int64_t terms) {
  constexpr std::int64_t kTargetBlocks = 264, kTermsOfRange = 4096;
  const auto ranges = (kTargetBlocks + results - 1) / results;
  return std::max<std::int64_t>(1, std::min(ranges, terms / kTermsOfRange));
}

}  // namespace

ReductionPlan::ReductionPlan(const Shape& shape, const std::vector<std::int64_t>& axes) {
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

std::size_t ReductionPlan::scratch_bytes() const {
  if (sizes_.by_columns) return ColumnSums<>(sizes_.terms, sizes_.results).scratch_bytes();
  return sizes_.ranges == 1 ? 0 : static_cast<std::size_t>(sizes_.results * sizes_.ranges) * sizeof(float);
}

}  // namespace troupe::cuda
