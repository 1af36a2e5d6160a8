#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::hierarchy {

/// The distribution of the ranks of a group over processes or machines, which are numbered in the order of their first
/// ranks: `outer` is the number of a process or machine, `inner` the number of a rank among the ranks of its process or
/// machine, in ascending order.
class Layout {
 public:
  /// `outer_of` has the number or the name of the process or machine of each rank.
  template <class Outer>
  explicit Layout(const std::vector<Outer>& outer_of) {
    std::vector<Outer> outers;
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
  /// Returns the first rank of every process or machine.
  std::vector<int> first_ranks() const {
    std::vector<int> ranks;
    for (const auto& of_outer : ranks_) ranks.push_back(of_outer.front());
    return ranks;
  }
  /// Returns the number of the process or machine of every rank, by rank.
  std::vector<int> numbers() const {
    std::vector<int> numbers;
    for (const auto& place : places_) numbers.push_back(place.outer);
    return numbers;
  }
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
