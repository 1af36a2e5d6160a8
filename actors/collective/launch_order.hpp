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

/// The dependencies between launches of work on a device under which the result equals that of running the launches one
/// after the other. A launch waits for the earlier launches that write memory that it reads or writes, or that read
/// memory that it writes.
class LaunchDependencies {
 public:
  /// Adds the next launch, with all memory that it reads and writes. Returns the numbers of the launches that it must
  /// wait for, counted from 0 in the order of the calls. A launch is left out if one of the returned launches waits for
  /// it. The result is valid until the next call.
  std::span<const std::size_t> add(std::vector<MemoryRange> reads, std::vector<MemoryRange> writes);

 private:
  struct Launch {
    std::vector<MemoryRange> reads, writes;
    std::vector<bool> comes_after;  // by earlier launch: whether this one waits for it, even indirectly
  };

  std::vector<Launch> launches_;
  std::vector<std::size_t> waits_for_;
};

/// The dependencies and the cost of a launch: the numbers of the earlier launches that it waits for, and its
/// approximate duration, in any unit.
struct DependentLaunch {
  std::vector<std::size_t> waits_for;
  double cost = 0.0;
};

/// The numbers of all launches, critical path first. Each launch comes after those that it waits for. Among the
/// launches that may be next, the one with the longest path to the end comes first; of equal ones, the lowest number.
std::vector<std::size_t> longest_way_first(std::span<const DependentLaunch> launches);

}  // namespace troupe
