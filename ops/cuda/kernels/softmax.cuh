#pragma once

#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/rows.cuh"

namespace troupe::cuda {

/// What makes a softmax of numbers: exp(x - largest) / sum.
struct SoftmaxScale {
  float largest, sum;
};

/// Those of a row of n numbers, found by all of its threads.
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

/// y = x minus the logarithm of the sum of exp(x), of one row; y may be x.
template <class Threads>
__device__ void log_softmax_row(Threads threads, std::int64_t n, const float* x, float* y) {
  const auto [largest, sum] = softmax_scale(threads, n, x);
  // In this order: largest + log(sum) would round the logarithm away where x is large.
  const float log_sum = logf(sum);
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) y[i] = (x[i] - largest) - log_sum;
}

/// The sum of f(i) for all i below n, found by all threads of a row.
template <class Threads, class F>
__device__ float row_sum(Threads threads, std::int64_t n, F f) {
  float sum = 0.0F;
  for (std::int64_t i = threads.lane(); i < n; i += Threads::kCount) sum += f(i);
  return threads.sum(sum);
}

/// Rows of n numbers as arguments of row_sum: their elements, and their products.
struct RowElements {
  const float* x;
  __device__ float operator()(std::int64_t i) const { return x[i]; }
};
struct RowProducts {
  const float* x;
  const float* y;
  __device__ float operator()(std::int64_t i) const { return x[i] * y[i]; }
};

}  // namespace troupe::cuda
