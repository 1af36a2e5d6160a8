#include "troupe/actors/collective/launch_order.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// The cost of the longest way from each launch to the end.
std::vector<double> ways_to_end(std::span<const DependentLaunch> launches) {
  std::vector<double> ways(launches.size());
  for (auto i = launches.size(); i-- > 0;) {
    ways[i] += launches[i].cost;
    for (const auto before : launches[i].waits_for) ways[before] = std::max(ways[before], ways[i]);
  }
  return ways;
}

}  // namespace

std::vector<std::size_t> longest_way_first(std::span<const DependentLaunch> launches) {
  const auto ways = ways_to_end(launches);
  std::vector<bool> is_next(launches.size());
  std::vector<std::size_t> order;
  const auto may_be_next = [&](std::size_t i) {
    return !is_next[i] && std::ranges::all_of(launches[i].waits_for, [&](auto before) { return is_next[before]; });
  };
  while (order.size() < launches.size()) {
    auto best = launches.size();
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (may_be_next(i) && (best == launches.size() || ways[i] > ways[best])) best = i;
    is_next[best] = true;
    order.push_back(best);
  }
  return order;
}

}  // namespace troupe
