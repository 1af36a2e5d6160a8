#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/kernel_table.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// An op with concrete shapes, for which a kernel is prepared.
struct OpCall {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;

  bool operator==(const OpCall&) const = default;
};

/// Where a kernel runs.
struct KernelContext {
  Stream& stream;
  /// Memory of the stream's device, aligned to 64 bytes, on devices with memory of their own to 256, of at least the
  /// kernel's scratch_bytes(). It holds nothing between kernels; those of one stream may share it.
  std::byte* scratch = nullptr;
};

/// The call with `rows` in place of every symbolic leading size.
OpCall with_rows(const OpCall& call, std::int64_t rows);

/// One op prepared for fixed shapes on one device. Not thread-safe: every user prepares its own.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Bytes of scratch memory that run() needs, besides inputs and outputs.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Launches the computation of the outputs. All tensors have the shapes of the OpCall and lie on the stream's device.
  /// An invalid value, such as a label out of range, is an Error, thrown here or reported by the next event of the
  /// stream. What is launched depends on nothing but the shapes and addresses of the tensors, and touches no memory of
  /// the device but theirs and the scratch memory: on devices whose streams can capture work it is captured, and
  /// launched again without this being called, concurrently with other kernels that share none of that memory.
  virtual void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) = 0;
};

/// Prepares an op for a device. Shapes must be concrete and without a size 0: see has_empty_tensor. Throws Error if
/// the device has no kernel for the op.
std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device);

/// Throws Error, which names the op, if the device has no kernel for it, or none that takes the 16-bit floats of the
/// call. Shapes may be symbolic, and nothing is prepared.
void expect_kernel(const OpCall& call, Device device);

/// Adds the kernel of an op on one kind of device, for the whole process. `op` must live until it ends. Throws Error if
/// the op has one there, or if there are no such devices. Unless it takes 16-bit floats, calls with such operands are
/// refused before they reach it. Thread-safe.
void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits = false);

/// True if the call has nothing to compute because a tensor has no elements, so that no kernel must be made for it. See
/// OpDef::accepts_empty.
bool has_empty_tensor(const OpCall& call);

/// Launches the result of a call with an empty tensor: every output becomes zero (a sum over no rows).
void fill_with_zeros(Stream& stream, std::span<const Tensor> outputs);

}  // namespace troupe
