#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

// If a column depends linearly on earlier ones, subtracting its components along them leaves only rounding errors. A
// column of which less than this part of its length is left becomes zero.
constexpr double kRoundingError = 1e-6;

/// The columns of a row-major matrix [m, n]: their scalar products, the subtraction of a multiple of `column` from
/// `from`, and scaling. All threads of one block must call each function.
struct Columns {
  float* elements;
  std::int64_t m, n;

  __device__ double product(std::int64_t a, std::int64_t b) const {
    double sum = 0.0;
    for (std::int64_t i = threadIdx.x; i < m; i += blockDim.x)
      sum += static_cast<double>(elements[i * n + a]) * static_cast<double>(elements[i * n + b]);
    return block_sum(sum);
  }
  // In all functions of Columns a thread reads and writes the same rows, so a thread need not wait for what others
  // write.
  __device__ void subtract(std::int64_t from, std::int64_t column, double factor) const {
    for (std::int64_t i = threadIdx.x; i < m; i += blockDim.x)
      elements[i * n + from] -= static_cast<float>(factor * static_cast<double>(elements[i * n + column]));
  }
  __device__ void scale(std::int64_t column, double factor) const {
    for (std::int64_t i = threadIdx.x; i < m; i += blockDim.x)
      elements[i * n + column] = static_cast<float>(factor * static_cast<double>(elements[i * n + column]));
  }
};

/// Orthonormalizes columns by modified Gram-Schmidt, in one block, because the columns depend on each other.
__global__ void __launch_bounds__(kBlock) orthonormalize_kernel(const float* x, Columns columns) {
  for (std::int64_t i = threadIdx.x; i < columns.m; i += blockDim.x)
    for (std::int64_t j = 0; j < columns.n; ++j) columns.elements[i * columns.n + j] = x[i * columns.n + j];
  for (std::int64_t column = 0; column < columns.n; ++column) {
    const double length = sqrt(columns.product(column, column));
    for (std::int64_t before = 0; before < column; ++before)
      columns.subtract(column, before, columns.product(column, before));
    const double left = sqrt(columns.product(column, column));
    // A length that is NaN is no rounding error: the column becomes NaN.
    columns.scale(column, left <= kRoundingError * length ? 0.0 : 1.0 / left);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_orthonormalize(const OpCall& call) {
  const auto& shape = call.outputs[0].shape;
  return cuda_kernel(call, [m = shape[0], n = shape[1]](const Launch& where, Inputs in, Outputs out) {
    launch(where, 1, kBlock, orthonormalize_kernel, floats(in[0]), Columns{mutable_floats(out[0]), m, n});
  });
}

}  // namespace troupe::cuda
