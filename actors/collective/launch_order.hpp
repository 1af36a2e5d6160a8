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

/// One of several launches: the numbers of those before it that it waits for, and about how long it takes, in any unit.
struct DependentLaunch {
  std::vector<std::size_t> waits_for;
  double cost = 0.0;
};

/// The numbers of all launches in an order in which each comes after those that it waits for: of those that may be
/// next, the one from which the longest way leads to the end, and the first of equals. So what takes longest is not
/// begun behind what has time.
std::vector<std::size_t> longest_way_first(std::span<const DependentLaunch> launches);

}  // namespace troupe
