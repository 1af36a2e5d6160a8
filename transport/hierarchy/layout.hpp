#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::hierarchy {

/// Which ranks of a group live in which process, or on which machine. These are numbered in the order of their first
/// ranks: `outer` is the number of a process or machine, `inner` that of a rank among its ranks.
class Layout {
 public:
  explicit Layout(const std::vector<int>& outer_of) {
    std::vector<int> outers;
    for (std::size_t rank = 0; rank < outer_of.size(); ++rank) {
      const auto position = std::ranges::find(outers, outer_of[rank]);
      const auto outer = static_cast<std::size_t>(position - outers.begin());
      if (position == outers.end()) {
        outers.push_back(outer_of[rank]);
        ranks_.emplace_back();
      }
      places_.push_back({static_cast<int>(outer), static_cast<int>(ranks_[outer].size())});
      ranks_[outer].push_back(static_cast<int>(rank));
    }
  }

  int ranks() const { return static_cast<int>(places_.size()); }
  int outer_count() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks_of(int outer) const { return ranks_[static_cast<std::size_t>(outer)]; }
  int outer(int rank) const { return places_[static_cast<std::size_t>(rank)].outer; }
  int inner(int rank) const { return places_[static_cast<std::size_t>(rank)].inner; }
  /// The largest number of ranks of a process or machine.
  std::int64_t most_ranks() const {
    const auto sizes = [](const std::vector<int>& ranks) { return ranks.size(); };
    return static_cast<std::int64_t>(std::ranges::max_element(ranks_, {}, sizes)->size());
  }

 private:
  struct Place {
    int outer, inner;
  };
  std::vector<Place> places_;            // by rank
  std::vector<std::vector<int>> ranks_;  // by process or machine
};

}  // namespace troupe::hierarchy
