#pragma once

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"
#include "troupe/ops/graph/graph.hpp"

namespace troupe::cuda {

/// Whether an update is applied: it has no flag (null), or the flag is above 0. A NaN is not above 0.
__device__ inline bool goes_ahead(const float* flag) {
  return flag == nullptr || *flag > 0.0F;
}

/// The tensors that an update overwrites, which are a parameter and its states, and the gradient.
template <int kStored>
struct UpdatedTensor {
  float* stored[kStored];
  const float* gradient;

  /// The tensors of the outputs from `first` on.
  static UpdatedTensor of(Outputs out, std::size_t first, const Tensor& gradient_tensor) {
    UpdatedTensor tensor{};
    for (int k = 0; k < kStored; ++k) tensor.stored[k] = mutable_floats(out[first + static_cast<std::size_t>(k)]);
    tensor.gradient = floats(gradient_tensor);
    return tensor;
  }
};

// A rule is a class for one kind of update. kStored is how many numbers an update overwrites for each element; step()
// computes the values that all elements of a step share; update(step, gradient, stored) changes the numbers of an
// element.

/// Updates the rows whose gradient is not zero.
template <int kThreads, class Rule>
__global__ void __launch_bounds__(kBlock) update_rows_kernel(std::int64_t rows, std::int64_t width, const float* flag,
                                                             UpdatedTensor<Rule::kStored> tensor, Rule rule) {
  __shared__ typename Rule::Step shared;
  if (!goes_ahead(flag)) return;
  if (threadIdx.x == 0) shared = rule.step();
  __syncthreads();
  const auto step = shared;
  const RowThreads<kThreads> threads{};
  const auto stride = static_cast<std::int64_t>(gridDim.x) * (kBlock / kThreads);
  for (auto row = first_element() / kThreads; row < rows; row += stride) {
    int has_gradient = 0;
    for (std::int64_t i = threads.lane(); i < width; i += kThreads)
      if (tensor.gradient[row * width + i] != 0.0F) has_gradient = 1;
    if (threads.reduce(has_gradient, Largest(), 0) == 0) continue;
    for (std::int64_t i = row * width + threads.lane(); i < (row + 1) * width; i += kThreads) {
      float stored[Rule::kStored];
      for (int k = 0; k < Rule::kStored; ++k) stored[k] = tensor.stored[k][i];
      rule.update(step, tensor.gradient[i], stored);
      for (int k = 0; k < Rule::kStored; ++k) tensor.stored[k][i] = stored[k];
    }
  }
}

/// The positions of the inputs of an update of one or several parameters; see ops/nn/update_rules.cpp and
/// merged_updates.hpp.
class UpdateCall {
 public:
  /// An update of one parameter.
  UpdateCall(const OpCall& call, bool numbered) : UpdateCall(call, numbered, call.outputs.size()) {}
  /// An update whose last gradient is input number `gradient`.
  UpdateCall(const OpCall& call, bool numbered, std::size_t gradient)
      : gradient_(gradient), numbered_(numbered), clipped_(call.attributes.flag("clipped")) {
    has_flag_ = call.inputs.size() > gradient_ + 2 + (numbered ? 1 : 0) + (clipped_ ? 1 : 0);
  }

  const float* gradient(Inputs in) const { return floats(in[gradient_]); }
  const float* rate(Inputs in) const { return floats(in[gradient_ + 1]); }
  const BatchInfo* batch_info(Inputs in) const { return batch_info_of(in[gradient_ + 2]); }
  /// Null if gradients are not clipped.
  const float* factor(Inputs in) const { return clipped_ ? floats(in[gradient_ + (numbered_ ? 3 : 2)]) : nullptr; }
  /// Null if there is no flag.
  const float* flag(Inputs in) const { return has_flag_ ? floats(in.back()) : nullptr; }

 private:
  std::size_t gradient_;
  bool numbered_, clipped_, has_flag_ = false;
};

/// An attribute as a float.
inline float option(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

/// The number at an address on the device, or 1 if the address is null.
__device__ inline float number_or_one(const float* number) {
  return number != nullptr ? *number : 1.0F;
}

}  // namespace troupe::cuda
