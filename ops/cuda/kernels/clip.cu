#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/tensor_list.cuh"

namespace troupe::cuda {

namespace {

/// Adds up the squares of the elements of the tensors in parts. Every block adds up a part of tensor number blockIdx.y,
/// and stores the sum of its part in its element of `sums`.
__global__ void __launch_bounds__(kBlock) squares_kernel(TensorList list, double* sums) {
  const auto* x = list.data[blockIdx.y];
  const auto n = list.elements[blockIdx.y];
  double sum = 0.0;
  for (auto i = first_element(); i < n; i += element_stride()) sum += static_cast<double>(x[i]) * x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kBlock)
    factor_kernel(const double* sums, unsigned count, double limit, float* factor) {
  double sum = 0.0;
  for (auto i = threadIdx.x; i < count; i += kBlock) sum += sums[i];
  const double norm = sqrt(block_sum(sum));
  if (threadIdx.x == 0) *factor = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
}

}  // namespace

std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call) {
  const auto blocks = blocks_for_each(call.inputs);
  const auto count = blocks * static_cast<unsigned>(call.inputs.size());
  return cuda_kernel(
      call,
      [blocks, count, limit = call.attributes.number("limit")](const Launch& where, Inputs in, Outputs out) {
        auto* sums = reinterpret_cast<double*>(where.scratch);
        for_each_list(in, [&](const TensorList& list, unsigned tensors, unsigned first) {
          launch(where, dim3(blocks, tensors), kBlock, squares_kernel, list, sums + std::size_t{blocks} * first);
        });
        launch(where, 1, kBlock, factor_kernel, sums, count, limit, mutable_floats(out[0]));
      },
      count * sizeof(double));
}

}  // namespace troupe::cuda
