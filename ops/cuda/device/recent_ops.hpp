#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace troupe::cuda {

/// The ops launched, or captured, lately on a GPU, for the error of a kernel that faulted: a GPU does not say which one
/// it was, and once there is a fault also earlier work seems to have failed. Thread-safe.
class RecentOps {
 public:
  /// `op` must live until the process ends.
  void add(const char* op);
  /// The names of those that are kept, each once, in order: `matmul, relu`.
  std::string names() const;

 private:
  static constexpr std::uint64_t kKept = 1024;

  mutable std::mutex mutex_;
  std::array<const char*, kKept> ops_{};
  std::uint64_t count_ = 0;
};

}  // namespace troupe::cuda
