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

/// The op, the attributes, and the shapes and dtypes of inputs and outputs for which a kernel is prepared.
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
  /// Memory of the stream's device, of at least Kernel::scratch_bytes() bytes, aligned to 64 bytes, or to 256 on
  /// devices with memory of their own. The kernels of a stream may share it, so its contents are lost after the run.
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
  /// device. An invalid value, such as a label out of range, is an Error, which run() throws or the next event of the
  /// stream reports. The launched work may depend only on the shapes and addresses of the tensors, and may access only
  /// their memory and the scratch memory. A stream that can capture work launches the captured work again without a
  /// call of run(), concurrently with kernels that share none of that memory.
  virtual void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) = 0;
};

/// Prepares a kernel for a call with concrete shapes. Any thread may call the factory, several at a time.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const OpCall& call)>;

/// The kernel of an op for one device type.
struct RegisteredKernel {
  KernelFactory factory;
  /// False: calls with 16-bit floats are refused, because the kernel would read them as float32.
  bool takes_16_bits = false;
};

/// The kernels of all ops for one device type. Thread-safe.
class KernelTable {
 public:
  virtual ~KernelTable() = default;

  /// Adds the kernel of an op. `op` must live as long as the table. Throws Error if the op has a kernel in the table or
  /// the factory is empty.
  void add(const OpDef& op, RegisteredKernel kernel);
  /// The kernel of an op; nothing if the table has none.
  std::optional<RegisteredKernel> find(const OpDef& op) const;

  /// The function behind expect_kernel(). A table that makes kernels other than the added ones overrides expect() and
  /// make().
  virtual void expect(const OpCall& call, Device device) const;
  /// The function behind make_kernel().
  virtual std::unique_ptr<Kernel> make(const OpCall& call, Device device);

 private:
  mutable std::mutex mutex_;
  std::map<const OpDef*, RegisteredKernel> kernels_;
};

/// Prepares a kernel for a call with concrete shapes. The caller must not ask for a kernel if has_empty_tensor(call) is
/// true. Throws the errors of expect_kernel() and of the factory.
std::unique_ptr<Kernel> make_kernel(const OpCall& call, Device device);

/// Throws Error that names the op if the device has no kernel for it, or none for the 16-bit floats of the call. The
/// shapes may be symbolic. No kernel is prepared.
void expect_kernel(const OpCall& call, Device device);

/// Adds the kernel of an op for one device type until the process ends; `op` must live until then. Throws Error if the
/// op has a kernel for the type, the factory is empty or the type has no backend. Unless `takes_16_bits`, calls with
/// 16-bit floats are refused. Thread-safe.
void register_kernel(const OpDef& op, DeviceType type, KernelFactory factory, bool takes_16_bits = false);

/// True if an input or output of the call has no elements and the op does not accept that (OpDef::accepts_empty). Such
/// a call needs no kernel: fill_with_zeros() writes its outputs. The shapes must be concrete.
bool has_empty_tensor(const OpCall& call);

/// Launches a write of zeros to all outputs. Zeros are the result of a call with an empty tensor, such as a sum over no
/// rows.
void fill_with_zeros(Stream& stream, std::span<const Tensor> outputs);

}  // namespace troupe
