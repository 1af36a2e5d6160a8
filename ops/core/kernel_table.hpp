#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace troupe {

struct OpDef;
struct OpCall;
class Kernel;

/// Prepares a kernel for a call with concrete shapes. Called on any thread.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const OpCall& call)>;

/// The kernel factory of every op on one kind of device. Thread-safe.
class KernelTable {
 public:
  /// `op` must live as long as the table. Throws Error if it has a kernel already.
  void add(const OpDef& op, KernelFactory factory);
  /// The factory of an op; empty if it has none.
  KernelFactory find(const OpDef& op) const;

 private:
  mutable std::mutex mutex_;
  std::map<const OpDef*, KernelFactory> factories_;
};

}  // namespace troupe
