#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// Bytes of memory from `begin` up to but not including `end`.
struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

/// Which of several launches have to wait for which, so that the result is as if each began when all before it were
/// done: a launch waits for those that write what it reads or writes, and for those that read what it writes.
class LaunchDependencies {
 public:
  /// Adds a launch that comes after those added before. The numbers of those that it must wait for, counted from 0,
  /// without those for which one of these waits; valid until the next call.
  std::span<const std::size_t> add(std::vector<MemoryRange> reads, std::vector<MemoryRange> writes);

 private:
  struct Launch {
    std::vector<MemoryRange> reads, writes;
    std::vector<bool> comes_after;  // by number of an earlier launch: this one waits for it, or for one that does
  };

  std::vector<Launch> launches_;
  std::vector<std::size_t> waits_for_;
};

}  // namespace troupe
