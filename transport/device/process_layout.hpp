#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::device {

/// Which ranks of a group live in which process; processes are numbered in the order of their first ranks. Likewise
/// which processes live on which machine.
class ProcessLayout {
 public:
  /// `process_of` has the number or name of each rank's process.
  template <class Process>
  explicit ProcessLayout(const std::vector<Process>& process_of) {
    std::vector<Process> known;
    for (std::size_t rank = 0; rank < process_of.size(); ++rank) {
      const auto found = std::ranges::find(known, process_of[rank]);
      const auto outer = static_cast<std::size_t>(found - known.begin());
      if (found == known.end()) {
        known.push_back(process_of[rank]);
        ranks_.emplace_back();
      }
      places_.push_back({static_cast<int>(outer), static_cast<int>(ranks_[outer].size())});
      ranks_[outer].push_back(static_cast<int>(rank));
    }
  }

  int ranks() const { return static_cast<int>(places_.size()); }
  int processes() const { return static_cast<int>(ranks_.size()); }
  /// Of process number `outer`.
  const std::vector<int>& ranks_of(int outer) const { return ranks_[static_cast<std::size_t>(outer)]; }
  /// The number of a rank's process, and its own number there.
  int outer(int rank) const { return places_[static_cast<std::size_t>(rank)].outer; }
  int inner(int rank) const { return places_[static_cast<std::size_t>(rank)].inner; }
  /// The number of every rank's process, by rank.
  std::vector<int> numbers() const {
    std::vector<int> numbers;
    for (const auto& place : places_) numbers.push_back(place.outer);
    return numbers;
  }
  /// The ranks of the process that has most.
  std::int64_t most_ranks() const {
    std::size_t most = 0;
    for (const auto& ranks : ranks_) most = std::max(most, ranks.size());
    return static_cast<std::int64_t>(most);
  }

 private:
  struct Place {
    int outer, inner;
  };
  std::vector<Place> places_;            // by rank
  std::vector<std::vector<int>> ranks_;  // by process
};

}  // namespace troupe::device
