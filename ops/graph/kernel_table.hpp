#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "troupe/ops/core/device.hpp"

namespace troupe {

struct OpDef;
struct OpCall;
class Kernel;

/// Prepares a kernel for a call with concrete shapes. Called on any thread.
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

  /// Adds the kernel of an op. `op` must live as long as the table. Throws Error if it has a kernel already.
  void add(const OpDef& op, RegisteredKernel kernel);
  /// The kernel of an op; nothing if it has none.
  std::optional<RegisteredKernel> find(const OpDef& op) const;

  /// See expect_kernel in ops/graph/kernel.hpp. A table that makes kernels beyond the added ones overrides expect() and
  /// make().
  virtual void expect(const OpCall& call, Device device) const;
  /// See make_kernel in ops/graph/kernel.hpp.
  virtual std::unique_ptr<Kernel> make(const OpCall& call, Device device);

 private:
  mutable std::mutex mutex_;
  std::map<const OpDef*, RegisteredKernel> kernels_;
};

}  // namespace troupe
