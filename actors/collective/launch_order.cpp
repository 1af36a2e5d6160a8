#include "troupe/actors/collective/launch_order.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace troupe {

namespace {

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  // Unlike <, std::less orders the addresses of different arrays, too.
  const std::less<> before;
  return before(std::max(a.begin, b.begin, before), std::min(a.end, b.end, before));
}

bool overlap(const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
  return std::ranges::any_of(
      a, [&](const auto& x) { return std::ranges::any_of(b, [&](const auto& y) { return overlap(x, y); }); });
}

/// For each launch: the cost of the longest chain of dependent launches that begins with it.
std::vector<double> ways_to_end(std::span<const DependentLaunch> launches) {
  std::vector<double> ways(launches.size());
  for (auto i = launches.size(); i-- > 0;) {
    ways[i] += launches[i].cost;
    for (const auto before : launches[i].waits_for) ways[before] = std::max(ways[before], ways[i]);
  }
  return ways;
}

}  // namespace

std::span<const std::size_t> LaunchDependencies::add(std::vector<MemoryRange> reads, std::vector<MemoryRange> writes) {
  Launch added{std::move(reads), std::move(writes), std::vector<bool>(launches_.size())};
  waits_for_.clear();
  for (auto i = launches_.size(); i-- > 0;) {
    const auto& earlier = launches_[i];
    if (added.comes_after[i]) continue;
    if (!overlap(earlier.writes, added.reads) && !overlap(earlier.writes, added.writes) &&
        !overlap(earlier.reads, added.writes))
      continue;
    waits_for_.push_back(i);
    added.comes_after[i] = true;
    for (std::size_t j = 0; j < i; ++j) added.comes_after[j] = added.comes_after[j] || earlier.comes_after[j];
  }
  launches_.push_back(std::move(added));
  return waits_for_;
}

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
