#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/tensor_list.cuh"
#include "troupe/ops/library/reshape.hpp"

namespace troupe::cuda {

namespace {

/// The offsets, in elements, of the tensors of a TensorList in the block, the output into which pack copies all
/// tensors.
struct Offsets {
  std::int64_t of[TensorList::kLimit];
};

/// Each block of threads copies a part of tensor number blockIdx.y to its place in `block`.
__global__ void __launch_bounds__(kBlock) pack_kernel(TensorList list, Offsets offsets, float* block) {
  const auto* from = list.data[blockIdx.y];
  auto* to = block + offsets.of[blockIdx.y];
  // If the memory plan has placed the tensor in `block`, the op that computes the tensor has written it there, and
  // nothing is copied.
  if (from == to) return;
  for (auto i = first_element(); i < list.elements[blockIdx.y]; i += element_stride()) to[i] = from[i];
}

bool is_in_place(const TensorList& list, const Offsets& offsets, unsigned tensors, const float* block) {
  for (unsigned i = 0; i < tensors; ++i)
    if (list.elements[i] > 0 && list.data[i] != block + offsets.of[i]) return false;
  return true;
}

}  // namespace

std::unique_ptr<Kernel> make_pack(const OpCall& call) {
  return cuda_kernel(call, [blocks = blocks_for_each(call.inputs), all_offsets = pack_offsets(call.inputs)](
                               const Launch& where, Inputs in, Outputs out) {
    auto* block = mutable_floats(out[0]);
    for_each_list(in, [&](const TensorList& list, unsigned tensors, unsigned first) {
      Offsets offsets{};
      std::copy_n(all_offsets.begin() + first, tensors, offsets.of);
      if (!is_in_place(list, offsets, tensors, block))
        launch(where, dim3(blocks, tensors), kBlock, pack_kernel, list, offsets, block);
    });
  });
}

}  // namespace troupe::cuda
