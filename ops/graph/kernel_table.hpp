#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {

struct OpDef;
struct OpCall;
class Kernel;

/// Prepares a kernel for a call with concrete shapes. Called on any thread.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const OpCall& call)>;

/// How the kernels of an op are made on one kind of device.
struct RegisteredKernel {
  KernelFactory factory;
  /// Off: a call with 16-bit floats must not reach the factory, whose kernels would read them as something else.
  bool takes_16_bits = false;
};

/// The kernel of every op on one kind of device. Thread-safe.
class KernelTable {
 public:
  /// `op` must live as long as the table. Throws Error if it has a kernel already.
  void add(const OpDef& op, RegisteredKernel kernel);
  /// What was added for an op, if anything.
  std::optional<RegisteredKernel> find(const OpDef& op) const;

 private:
  mutable std::mutex mutex_;
  std::map<const OpDef*, RegisteredKernel> kernels_;
};

}  // namespace troupe
