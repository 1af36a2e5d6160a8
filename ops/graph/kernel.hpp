#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// An op with concrete shapes: what a kernel is prepared for.
struct OpCall {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
};

/// One op prepared for fixed shapes on one device. Not thread-safe: every user prepares its own.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Bytes of scratch memory that run() needs, besides inputs and outputs.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Computes the outputs. All tensors have the shapes of the OpCall; `scratch` is 64-byte aligned and holds nothing
  /// between calls. Throws Error if the values are not allowed.
  virtual void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) = 0;
};

/// Prepares an op for a device. Shapes must be concrete and without a size 0: see has_empty_tensor. Throws Error if
/// the device has no kernel for the op.
std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device);

/// True if the call has nothing to compute because a tensor has no elements, so that no kernel must be made for it.
/// What joins several tensors (pack, global_norm_factor) is made for as long as one of them has elements.
bool has_empty_tensor(const OpCall& call);

/// What a call with an empty tensor does: every output becomes zeros (a sum over no rows).
void fill_with_zeros(std::span<const Tensor> outputs);

}  // namespace troupe
