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

/// The dependencies between launches under which the result equals that of running them one after the other. A launch
/// waits for the earlier launches that write memory that it reads or writes, or that read memory that it writes.
class LaunchDependencies {
 public:
  /// Adds a launch after those added before. Returns the numbers, from 0, of the launches that it must wait for,
  /// without those for which another of these waits. The result is valid until the next call.
  std::span<const std::size_t> add(std::vector<MemoryRange> reads, std::vector<MemoryRange> writes);

 private:
  struct Launch {
    std::vector<MemoryRange> reads, writes;
    std::vector<bool> comes_after;  // by number of an earlier launch: this one waits for it, directly or indirectly
  };

  std::vector<Launch> launches_;
  std::vector<std::size_t> waits_for_;
};

/// A launch: the numbers of the earlier launches that it waits for, and its approximate duration, in any unit.
struct DependentLaunch {
  std::vector<std::size_t> waits_for;
  double cost = 0.0;
};

/// The numbers of all launches, critical path first. Each launch comes after those that it waits for. Among the
/// launches that may be next, the one with the longest path to the end comes first; of equal ones, the lowest number.
std::vector<std::size_t> longest_way_first(std::span<const DependentLaunch> launches);

}  // namespace troupe
