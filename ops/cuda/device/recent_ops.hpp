#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace troupe::cuda {

/// The ops that were last launched or captured on a GPU, for the error of a kernel's fault: a GPU does not report which
/// kernel failed, and after a fault earlier work seems to have failed, too. Thread-safe.
class RecentOps {
 public:
  /// Adds the op that is launched or captured now. `op` must live until the process ends.
  void add(const char* op);
  /// The names of the recent ops, each once, in order: `matmul, relu`.
  std::string names() const;

 private:
  static constexpr std::uint64_t kKept = 1024;

  mutable std::mutex mutex_;
  std::array<const char*, kKept> ops_{};
  std::uint64_t count_ = 0;
};

}  // namespace troupe::cuda
