#include "troupe/ops/cuda/column_sums.cuh"
#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Stores the gradient of every element while the columns are added up. What is loaded is not stored to, so that loads
/// need not wait for stores.
struct ReluGradTerms {
  const float* dy;
  const float* y;
  float* dx;
  std::int64_t columns;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    const auto i = row * columns + column;
    numbers[0] = __ldg(y + i) > 0.0F ? __ldg(dy + i) : 0.0F;
    dx[i] = numbers[0];
  }
};

}  // namespace

std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call) {
  const auto columns = call.outputs[1].shape[0];
  const ColumnSums<> sums(call.inputs[0].shape.elements() / columns, columns);
  return cuda_kernel(
      call,
      [sums, columns](const Launch& where, Inputs in, Outputs out) {
        sums.run(where, where.scratch, ReluGradTerms{floats(in[0]), floats(in[1]), mutable_floats(out[0]), columns},
                 StoreColumn<>{mutable_floats(out[1]), columns});
      },
      sums.scratch_bytes());
}

}  // namespace troupe::cuda
