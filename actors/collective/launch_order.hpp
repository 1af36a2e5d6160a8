#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

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
