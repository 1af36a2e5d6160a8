#include "troupe/ops/cuda/column_sums.cuh"
#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/elements.cuh"
#include "troupe/ops/cuda/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Stores the gradient of every element while the columns are added up. Where dx is not dy, loads need not wait for
/// stores.
template <class T, bool kInPlace>
struct ReluGradTerms {
  static constexpr int kRowsAtOnce = kInPlace ? 4 : 16;
  const T* dy;
  const T* y;
  T* dx;
  std::int64_t columns;
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
    const auto i = row * columns + column;
    const float gradient = kInPlace ? load(dy, i) : load_constant(dy, i);
    numbers[0] = load_constant(y, i) > 0.0F ? gradient : 0.0F;
    store(dx, i, numbers[0]);
  }
};

template <bool kInPlace, class T>
void launch_relu_grad_bias(const Launch& where, const ColumnSums<>& sums, std::int64_t columns, Inputs in, Outputs out,
                           T /*element*/) {
  const ReluGradTerms<T, kInPlace> terms{data_of<T>(in[0]), data_of<T>(in[1]), mutable_data_of<T>(out[0]), columns};
  sums.run(where, where.scratch, terms, StoreColumn<>{mutable_floats(out[1]), columns});
}

}  // namespace

std::unique_ptr<Kernel> make_relu_grad_bias(const OpCall& call) {
  const auto columns = call.outputs[1].shape[0];
  const ColumnSums<> sums(call.inputs[0].shape.elements() / columns, columns);
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(
        call,
        [sums, columns](const Launch& where, Inputs in, Outputs out) {
          if (in[0].address() == out[0].address())
            launch_relu_grad_bias<true>(where, sums, columns, in, out, T());
          else
            launch_relu_grad_bias<false>(where, sums, columns, in, out, T());
        },
        sums.scratch_bytes());
  });
}

}  // namespace troupe::cuda
