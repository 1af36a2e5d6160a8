#pragma once

#include <algorithm>

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/rows.cuh"
#include "troupe/ops/fused/merged_updates.hpp"
#include "troupe/ops/graph/graph.hpp"

namespace troupe::cuda {

/// Whether an update is applied: `flag` is null, because the update has no flag, or the flag is above 0. A NaN is not
/// above 0.
__device__ inline bool goes_ahead(const float* flag) {
  return flag == nullptr || *flag > 0.0F;
}

/// The memory that an update of one parameter uses: the kStored tensors that it overwrites, which are the parameter and
/// its states, the number of updates if the rule needs it, and the gradient.
template <int kStored>
struct UpdatedTensor {
  float* stored[kStored];
  float* updates;  // or null
  const float* gradient;

  /// Takes the kStored outputs from number `first` on, then the number of updates if `counted`, and the gradient.
  static UpdatedTensor of(Outputs out, std::size_t first, bool counted, const Tensor& gradient_tensor) {
    UpdatedTensor tensor{};
    for (std::size_t k = 0; k < kStored; ++k) tensor.stored[k] = mutable_floats(out[first + k]);
    tensor.updates = counted ? mutable_floats(out[first + kStored]) : nullptr;
    tensor.gradient = floats(gradient_tensor);
    return tensor;
  }
};

/// The inputs that all parameters of an update share.
struct SharedInputs {
  const float* rate;
  const float* factor;  // scalar factor of the gradients, or null
  const float* flag;    // see goes_ahead()

  __device__ float factor_or_one() const { return factor != nullptr ? *factor : 1.0F; }
};

/// The positions of the inputs of an update of one or several parameters. After the last gradient come the learning
/// rate, the factor of the gradients if the attribute `clipped` is set, and perhaps the flag.
class UpdateCall {
 public:
  /// Takes an update of one parameter, whose outputs are the parameter and its states.
  explicit UpdateCall(const OpCall& call) : UpdateCall(call, call.outputs.size()) {}
  /// Takes an update of one or several parameters, whose last gradient is input number `gradient`.
  UpdateCall(const OpCall& call, std::size_t gradient)
      : gradient_(gradient), clipped_(call.attributes.flag("clipped")) {
    has_flag_ = call.inputs.size() > gradient_ + 2 + (clipped_ ? 1 : 0);
  }

  const float* gradient(Inputs in) const { return floats(in[gradient_]); }
  SharedInputs shared(Inputs in) const {
    return {floats(in[gradient_ + 1]), clipped_ ? floats(in[gradient_ + 2]) : nullptr,
            has_flag_ ? floats(in.back()) : nullptr};
  }

 private:
  std::size_t gradient_;
  bool clipped_, has_flag_ = false;
};

// A rule is a class for one kind of update, derived from SharedInputs. kStored is the number of tensors that the update
// overwrites. step(updates) computes the values that all elements share in a step; `updates` points to the number of
// updates that the parameter has had, and is null if kCounted is false. update(step, gradient, stored) changes the
// numbers of one element, one in each of these tensors.

/// Updates the rows of a parameter whose gradient has an element that is not zero.
template <int kThreads, class Rule>
__global__ void __launch_bounds__(kBlock)
    update_rows_kernel(std::int64_t rows, std::int64_t width, UpdatedTensor<Rule::kStored> tensor, Rule rule) {
  __shared__ typename Rule::Step shared;
  if (!goes_ahead(rule.flag)) return;
  if (threadIdx.x == 0) shared = rule.step(tensor.updates);
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

/// The elements of a chunk, the part of a tensor that one block updates at a time: kElementsOfThread for each thread,
/// whose loads overlap.
inline constexpr int kElementsOfThread = 4;
inline constexpr std::int64_t kChunk = kElementsOfThread * kBlock;

/// Up to kLimit parameters and their states as an argument of update_kernel.
template <int kStored, std::size_t kLimit>
struct UpdatedTensors {
  UpdatedTensor<kStored> tensors[kLimit];
  std::int64_t elements[kLimit];  ///< number of elements of tensors[i]
  /// first_chunk[i] is the number of chunks of the tensors before tensor i. For n tensors, first_chunk[n] is the number
  /// of all chunks.
  std::int64_t first_chunk[kLimit + 1];
};

/// Counts an update of each of `count` parameters, except those without elements. Must be launched after the updates,
/// whose threads read the numbers.
template <int kStored, std::size_t kLimit>
__global__ void count_updates_kernel(UpdatedTensors<kStored, kLimit> list, int count, const float* flag) {
  const auto i = static_cast<int>(threadIdx.x);
  if (goes_ahead(flag) && i < count && list.elements[i] > 0) *list.tensors[i].updates += 1.0F;
}

/// Updates the calling thread's elements of one chunk of a tensor of n elements. `i` is the first of these elements;
/// they are kBlock apart.
template <class Rule>
__device__ inline void update_chunk(const UpdatedTensor<Rule::kStored>& tensor, std::int64_t i, std::int64_t n,
                                    const typename Rule::Step& step, const Rule& rule) {
  float gradients[kElementsOfThread], stored[kElementsOfThread][Rule::kStored];
  for (int j = 0; j < kElementsOfThread; ++j) {
    const auto at = i + j * kBlock;
    if (at >= n) continue;
    gradients[j] = tensor.gradient[at];
    for (int k = 0; k < Rule::kStored; ++k) stored[j][k] = tensor.stored[k][at];
  }
  for (int j = 0; j < kElementsOfThread; ++j) {
    const auto at = i + j * kBlock;
    if (at >= n) continue;
    rule.update(step, gradients[j], stored[j]);
    for (int k = 0; k < Rule::kStored; ++k) tensor.stored[k][at] = stored[j][k];
  }
}

/// Updates all elements of `count` tensors. The chunks of all tensors are distributed over the blocks.
template <std::size_t kLimit, class Rule>
__global__ void __launch_bounds__(kBlock)
    update_kernel(UpdatedTensors<Rule::kStored, kLimit> list, int count, Rule rule) {
  __shared__ typename Rule::Step shared;
  if (!goes_ahead(rule.flag)) return;
  // If kLimit is 1, all indices into the list are constants, so that the compiler need not copy the list to local
  // memory.
  const auto chunks = list.first_chunk[kLimit > 1 ? count : 1];
  int number = 0, number_of_step = -1;
  typename Rule::Step step;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    if constexpr (kLimit > 1)
      while (chunk >= list.first_chunk[number + 1]) ++number;
    if (number_of_step < 0 || (Rule::kCounted && number_of_step != number)) {
      __syncthreads();
      if (threadIdx.x == 0) shared = rule.step(list.tensors[number].updates);
      __syncthreads();
      step = shared;
      number_of_step = number;
    }
    const auto first = (chunk - list.first_chunk[number]) * kChunk + threadIdx.x;
    update_chunk(list.tensors[number], first, list.elements[number], step, rule);
  }
}

/// Launches the updates of one or several parameters. A launch updates all elements of up to kLimit parameters. An
/// update with the attribute kRowSparse has one parameter, and changes only the rows of it whose gradient is not zero.
class UpdateLaunch {
 public:
  explicit UpdateLaunch(const OpCall& call)
      : update_(merged_op_of(*call.op) != nullptr ? MergedUpdate{1, call.outputs.size()}
                                                  : merged_update(*call.op, call.attributes, call.inputs.size())),
        shared_(call, update_.first_shared() - 1),
        row_sparse_(call.attributes.has(kRowSparse)) {}

  SharedInputs shared(Inputs in) const { return shared_.shared(in); }

  template <class Rule>
  void run(const Launch& where, Inputs in, Outputs out, const Rule& rule) const {
    if (row_sparse_) return update_rows(where, in, out, rule);
    if (update_.parameters == 1) return update_some<1>(where, in, out, rule, 0);
    for (std::size_t first = 0; first < update_.parameters; first += kLimit)
      update_some<kLimit>(where, in, out, rule, first);
  }

 private:
  static constexpr std::size_t kLimit = 64;

  template <std::size_t kTensors, class Rule>
  void update_some(const Launch& where, Inputs in, Outputs out, const Rule& rule, std::size_t first) const {
    UpdatedTensors<Rule::kStored, kTensors> list{};
    const auto count = std::min(kTensors, update_.parameters - first);
    for (std::size_t i = 0; i < count; ++i) {
      const auto stored = update_.first_stored(first + i);
      list.tensors[i] = UpdatedTensor<Rule::kStored>::of(out, stored, Rule::kCounted, in[update_.gradient(first + i)]);
      list.elements[i] = out[stored].elements();
      list.first_chunk[i + 1] = list.first_chunk[i] + divided_up(list.elements[i], kChunk);
    }
    launch(where, blocks_for(list.first_chunk[count], 1), kBlock, update_kernel<kTensors, Rule>, list,
           static_cast<int>(count), rule);
    if constexpr (Rule::kCounted) count_updates(where, list, static_cast<int>(count), rule.flag);
  }

  template <int kStored, std::size_t kTensors>
  static void count_updates(const Launch& where, const UpdatedTensors<kStored, kTensors>& list, int count,
                            const float* flag) {
    launch(where, 1, static_cast<unsigned>(kTensors), count_updates_kernel<kStored, kTensors>, list, count, flag);
  }

  template <class Rule>
  void update_rows(const Launch& where, Inputs in, Outputs out, const Rule& rule) const {
    constexpr std::int64_t kWide = 1024;
    const auto rows = in[0].shape()[0], width = in[0].shape().row_elements();
    const auto tensor = UpdatedTensor<Rule::kStored>::of(out, 0, Rule::kCounted, in[update_.gradient(0)]);
    const int threads = width < kWide ? kWarp : kBlock;
    auto* const kernel = width < kWide ? update_rows_kernel<kWarp, Rule> : update_rows_kernel<kBlock, Rule>;
    launch(where, blocks_for(rows * threads), kBlock, kernel, rows, width, tensor, rule);
    if constexpr (Rule::kCounted)
      count_updates(where, UpdatedTensors<Rule::kStored, 1>{{tensor}, {rows * width}, {}}, 1, rule.flag);
  }

  MergedUpdate update_;
  UpdateCall shared_;
  bool row_sparse_;
};

}  // namespace troupe::cuda
