#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The terms that ColumnSums adds up for each column: the gradient of every element, which is dy where the relu's
/// result y is above 0, else 0. ColumnSums also calls keep(), which stores the gradients in dx; dx may be dy.
template <class T>
struct ReluGradTerms {
  static constexpr int kRowsAtOnce = 16;
  const T* dy;
  const T* y;
  T* dx;
  std::int64_t columns;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    const auto i = row * columns + column;
    const float gradient = load(dy, i);
    numbers[0] = load_constant(y, i) > 0.0F ? gradient : 0.0F;
  }
  __device__ void keep(std::int64_t row, std::int64_t column, const float (&numbers)[1]) const {
    store(dx, row * columns + column, numbers[0]);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call) {
  const auto columns = call.outputs[1].shape[0];
  const ColumnSums<> sums(call.inputs[0].shape.elements() / columns, columns);
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(
        call,
        [sums, columns](const Launch& where, Inputs in, Outputs out) {
          const ReluGradTerms<T> terms{data_of<T>(in[0]), data_of<T>(in[1]), mutable_data_of<T>(out[0]), columns};
          sums.run(where, where.scratch, terms, StoreColumn<>{mutable_floats(out[1]), columns});
        },
        sums.scratch_bytes());
  });
}

}  // namespace troupe::cuda
