#pragma once

#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

/// The largest of the numbers x of a row, and the sum of exp(x - largest) over the row: softmax is exp(x - largest) /
/// sum.
struct SoftmaxScale {
  float largest, sum;
};

/// Returns the SoftmaxScale of a row of n numbers. All threads of the row must make the call, and get the result.
template <class Threads>
__device__ SoftmaxScale softmax_scale(Threads threads, std::int64_t n, const float* x) {
  const Largest larger{};
  float largest = Largest::kNone;
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) largest = larger(largest, x[i]);
  largest = threads.reduce(largest, larger);
  float sum = 0.0F;
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) sum += expf(x[i] - largest);
  return {largest, threads.sum(sum)};
}

/// Computes y = x - log(sum(exp(x))) of one row. y may be x.
template <class Threads>
__device__ void log_softmax_row(Threads threads, std::int64_t n, const float* x, float* y) {
  const auto [largest, sum] = softmax_scale(threads, n, x);
  // `largest` is subtracted first: if it is large, the sum largest + log_sum would round log_sum away.
  const float log_sum = logf(sum);
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) y[i] = (x[i] - largest) - log_sum;
}

/// Returns the sum of f(i) over all i below n. All threads of a row must make the call, and get the result.
template <class Threads, class F>
__device__ float row_sum(Threads threads, std::int64_t n, F f) {
  float sum = 0.0F;
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) sum += f(i);
  return threads.sum(sum);
}

/// A function for row_sum() that gives the elements of a row.
struct RowElements {
  const float* x;
  __device__ float operator()(std::int64_t i) const { return x[i]; }
};
/// A function for row_sum() that gives the products of the elements of two rows.
struct RowProducts {
  const float* x;
  const float* y;
  __device__ float operator()(std::int64_t i) const { return x[i] * y[i]; }
};

}  // namespace troupe::cuda
