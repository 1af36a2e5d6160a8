#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// A call for which a kernel is prepared: the op, the attributes, and the shapes and dtypes of inputs and outputs. A
/// shape is concrete if its leading size is not kBatch.
struct OpCall {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;

  bool operator==(const OpCall&) const = default;
};

/// The stream and the scratch memory of one run of a kernel.
struct KernelContext {
  Stream& stream;
  /// Memory of the stream's device, of at least Kernel::scratch_bytes() bytes, aligned to 64 bytes, or to 256 bytes on
  /// devices whose memory the host cannot access. The kernels of a stream may share the memory, so its contents are
  /// lost after the run.
  std::byte* scratch = nullptr;
};

/// Returns the call with `rows` in place of every leading size kBatch.
OpCall with_rows(OpCall call, std::int64_t rows);

/// One op prepared for fixed shapes on one device. Not thread-safe: each user, such as an actor, prepares its own
/// kernel.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Bytes of scratch memory that run() needs besides inputs and outputs.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Launches the computation of the outputs. All tensors must have the shapes of the OpCall and lie on the stream's
  /// device. For an invalid value, such as a label out of range, run() throws Error or the next event of the stream
  /// reports one. The launched work may depend only on the shapes and addresses of the tensors, and may access only
  /// their memory and the scratch memory. A stream that can capture work launches the captured work again without a
  /// call of run(), concurrently with kernels that share none of that memory.
  virtual void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) = 0;
};

/// A function that prepares a kernel for a call with concrete shapes. Several threads may call a factory at the same
/// time.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const OpCall& call)>;

/// The factory of an op's kernels for one device type, and whether the kernels take 16-bit floats.
struct RegisteredKernel {
  KernelFactory factory;
  /// False: KernelTable::expect() refuses calls with 16-bit floats, because the kernel would read the elements as
  /// float32.
  bool takes_16_bits = false;
};

/// The registered kernels of one device type, by op. Thread-safe.
class KernelTable {
 public:
  virtual ~KernelTable() = default;

  /// Adds the kernel of an op. `op` must live as long as the table. Throws Error if the op has a kernel in the table or
  /// the factory is empty.
  void add(const OpDef& op, RegisteredKernel kernel);
  /// The registered kernel of an op; nothing if the table has none.
  std::optional<RegisteredKernel> find(const OpDef& op) const;

  /// Throws Error that names the op if the table has no kernel for the op, or none for the 16-bit floats of the call.
  /// expect_kernel() calls this function. A subclass that makes kernels other than the added ones overrides expect()
  /// and make().
  virtual void expect(const OpCall& call, Device device) const;
  /// Prepares a kernel for make_kernel(), which calls this function. Throws the errors of expect() and of the factory.
  virtual std::unique_ptr<Kernel> make(const OpCall& call, Device device);

 private:
  mutable std::mutex mutex_;
  std::map<const OpDef*, RegisteredKernel> kernels_;
};

/// Prepares a kernel for a call on a device. The shapes of the call must be concrete, and has_empty_tensor(call) must
/// be false. Throws the errors of expect_kernel() and of the factory.
std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device);

/// Throws Error that names the op if the device has no kernel for the op, or none for the 16-bit floats of the call,
/// and Error that names the device if its type has no backend. The shapes may have the leading size kBatch. No kernel
/// is prepared.
void expect_kernel(const OpCall& call, Device device);

/// Adds the kernel of an op for one device type until the process ends; `op` must live until then. Throws Error if the
/// op has a kernel for the type, the factory is empty or the type has no backend. Unless `takes_16_bits`, calls with
/// 16-bit floats are refused. Thread-safe.
void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits = false);

/// True if an input or output of the call has no elements and the op does not accept that (OpDef::accepts_empty). Such
/// a call gets no kernel: fill_with_zeros() writes its outputs, except those of an update, which keep their values. The
/// shapes must be concrete.
bool has_empty_tensor(const OpCall& call);

/// Launches a write of zeros to all outputs. Zeros are the result of a call with an empty tensor, such as a sum over no
/// rows, if the op is not an update.
void fill_with_zeros(Stream& stream, std::span<const Tensor> outputs);

}  // namespace troupe
