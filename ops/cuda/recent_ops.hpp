#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace troupe::cuda {

/// The ops launched lately on a stream, for the error of a kernel that faulted: a GPU does not say which one it was.
/// Thread-safe.
class RecentOps {
 public:
  /// `op` must live until the process ends.
  void add(const char* op);
  /// So many were added so far.
  std::uint64_t count() const;
  /// Their names from number `first` up to but not including `end`, as far as they are kept, each once, in order:
  /// `matmul, relu`.
  std::string names(std::uint64_t first, std::uint64_t end) const;

 private:
  static constexpr std::uint64_t kKept = 64;

  mutable std::mutex mutex_;
  std::array<const char*, kKept> ops_{};
  std::uint64_t count_ = 0;
};

}  // namespace troupe::cuda
