#include "troupe/actors/collective/launch_dependencies.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace troupe {

namespace {

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  // std::less compares addresses of different arrays, too.
  const std::less<> before;
  return before(std::max(a.begin, b.begin, before), std::min(a.end, b.end, before));
}

bool overlap(const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
  return std::ranges::any_of(
      a, [&](const auto& x) { return std::ranges::any_of(b, [&](const auto& y) { return overlap(x, y); }); });
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

}  // namespace troupe
