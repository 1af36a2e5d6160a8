#include <limits>

#include "troupe/ops/cuda/device/block_sum.cuh"
#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"
#include "troupe/ops/cuda/kernels/tensor_list.cuh"
#include "troupe/ops/fused/product_and_magnitude.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

/// Each block checks a part of tensor number blockIdx.y, and sets `finite` to 0 if an element is not finite. `finite`
/// must be 1 before.
__global__ void __launch_bounds__(kBlock) find_not_finite_kernel(TensorList list, float* finite) {
  const auto* x = list.data[blockIdx.y];
  const auto n = list.elements[blockIdx.y];
  int not_finite = 0;
  for (auto i = first_element(); i < n; i += element_stride()) not_finite |= is_finite(x[i]) ? 0 : 1;
  if (__syncthreads_or(not_finite) != 0 && threadIdx.x == 0) atomicExch(finite, 0.0F);
}

/// Checks all tensors by one block. Sets `finite` to 1, or to 0 if an element is not finite.
__global__ void __launch_bounds__(kBlock) are_finite_kernel(TensorList list, unsigned tensors, float* finite) {
  int not_finite = 0;
  for (unsigned tensor = 0; tensor < tensors; ++tensor)
    for (auto i = first_element(); i < list.elements[tensor]; i += kBlock)
      not_finite |= is_finite(list.data[tensor][i]) ? 0 : 1;
  not_finite = __syncthreads_or(not_finite);
  if (threadIdx.x == 0) *finite = not_finite != 0 ? 0.0F : 1.0F;
}

/// Each block finds the largest bit pattern, without sign, of a part of tensor number blockIdx.y, and raises `largest`
/// to it, or to that of infinity if the float is above `bound`. The patterns of floats without sign are ordered as the
/// floats; those of NaNs are above infinity's.
__global__ void __launch_bounds__(kBlock) largest_pattern_kernel(TensorList list, float bound, int* largest) {
  const auto* x = list.data[blockIdx.y];
  const auto n = list.elements[blockIdx.y];
  int pattern = 0;
  for (auto i = first_element(); i < n; i += element_stride())
    pattern = max(pattern, __float_as_int(x[i]) & 0x7fffffff);
  const auto of_block = block_reduce(pattern, Largest(), 0);
  const auto infinity = std::numeric_limits<float>::infinity();
  if (threadIdx.x == 0)
    atomicMax(largest, __float_as_int(__int_as_float(of_block) > bound ? infinity : __int_as_float(of_block)));
}

/// Whether one TensorList holds all tensors, and they have so few elements that one block checks them fast enough.
bool are_few(std::span<const TensorInfo> tensors) {
  constexpr std::int64_t kFewElements = 4 * kBlock;
  std::int64_t elements = 0;
  for (const auto& tensor : tensors) elements += tensor.shape.elements();
  return tensors.size() <= TensorList::kLimit && elements <= kFewElements;
}

/// Returns x, and reports it as invalid if it is not finite.
struct CheckFinite {
  InvalidReport invalid;
  __device__ float operator()(float x) const {
    if (!is_finite(x)) invalid(InvalidValue::Kind::not_finite, 0, 0, 0, x);
    return x;
  }
};

/// The kernel of product_and_magnitude: runs the kernels of the product and of largest_magnitude.
class ProductAndMagnitude final : public Kernel {
 public:
  explicit ProductAndMagnitude(const OpCall& call)
      : product_(make_product_without_magnitude(call, make_matmul, make_outer_sum)),
        magnitude_(make_largest_magnitude({&kLargestMagnitude,
                                           {{"bound", std::numeric_limits<double>::infinity()}},
                                           {call.outputs[0]},
                                           {call.outputs[1]}})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    product_->run(context, inputs, outputs.first(1));
    magnitude_->run(context, outputs.first(1), outputs.last(1));
  }

 private:
  std::unique_ptr<Kernel> product_, magnitude_;
};

}  // namespace

std::unique_ptr<Kernel> make_all_finite(const OpCall& call) {
  return cuda_kernel(call, [blocks = blocks_for_each(call.inputs), few = are_few(call.inputs)](const Launch& where,
                                                                                               Inputs in, Outputs out) {
    auto* finite = mutable_floats(out[0]);
    if (!few) for_each(where, 1, Fill<float>{1.0F, finite});
    for_each_list(in, [&](const TensorList& list, unsigned tensors, unsigned) {
      if (few)
        launch(where, 1, kBlock, are_finite_kernel, list, tensors, finite);
      else
        launch(where, dim3(blocks, tensors), kBlock, find_not_finite_kernel, list, finite);
    });
  });
}

std::unique_ptr<Kernel> make_largest_magnitude(const OpCall& call) {
  const auto bound = static_cast<float>(call.attributes.number("bound"));
  return cuda_kernel(call, [blocks = blocks_for_each(call.inputs), bound](const Launch& where, Inputs in, Outputs out) {
    auto* largest = mutable_floats(out[0]);
    for_each(where, 1, Fill<float>{0.0F, largest});
    for_each_list(in, [&](const TensorList& list, unsigned tensors, unsigned) {
      launch(where, dim3(blocks, tensors), kBlock, largest_pattern_kernel, list, bound,
             reinterpret_cast<int*>(largest));
    });
  });
}

std::unique_ptr<Kernel> make_product_and_magnitude(const OpCall& call) {
  return std::make_unique<ProductAndMagnitude>(call);
}

std::unique_ptr<Kernel> make_check_finite(const OpCall& call) {
  return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), MapOne<CheckFinite>{{where.invalid}, floats(in[0]), mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_control_dependency(const OpCall& call) {
  return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
    check(cudaMemcpyAsync(out[0].address(), in[0].address(), in[0].bytes(), cudaMemcpyDeviceToDevice, where.stream),
          "control_dependency");
  });
}

}  // namespace troupe::cuda
