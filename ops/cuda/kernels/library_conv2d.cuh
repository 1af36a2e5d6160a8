#pragma once

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/column_sums.cuh"

namespace troupe::cuda {

/// Each of these functions makes the kernel of conv2d, or of one of its gradients, that runs a convolution library; see
/// find_library_convolution(). It returns null if there is no library, or if it does not support the convolution.
std::unique_ptr<Kernel> library_conv2d(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_data(const OpCall& call, const Convolution& shape);
std::unique_ptr<Kernel> library_conv2d_grad_weights(const OpCall& call, const Convolution& shape);

/// The gradient of a convolution's bias: for each filter the sum of dy over all pixels. run() does nothing if the
/// convolution has no bias.
struct BiasGradient {
  std::int64_t filters;
  ColumnSums<> sums;
  bool exists;

  BiasGradient(const Convolution& shape, bool has_bias)
      : filters(shape.filters), sums(shape.rows * shape.pixels_of_row(), shape.filters), exists(has_bias) {}

  std::size_t scratch_bytes() const { return exists ? sums.scratch_bytes() : 0; }
  /// Launches the sum. `in` and `out` must be the inputs and outputs of conv2d_grad_weights; T is the element type of
  /// the inputs.
  template <class T>
  void run(const Launch& where, Inputs in, Outputs out) const {
    if (exists)
      sums.run(where, where.scratch, ElementTerms<T>{data_of<T>(in[1]), filters},
               StoreColumn<>{mutable_floats(out[1]), filters});
  }
};

}  // namespace troupe::cuda
