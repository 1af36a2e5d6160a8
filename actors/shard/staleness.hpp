#pragma once

#include <cstdint>
#include <map>

namespace troupe {

/// Staleness of gradients when they were applied: the number of versions that the parameters had moved on.
struct Staleness {
  std::map<std::int64_t, std::int64_t> applied;  ///< number of gradients, by staleness
  std::int64_t dropped = 0;                      ///< number of gradients that came too late

  /// Adds the counts of other shards.
  void add(const Staleness& other) {
    for (const auto& [staleness, gradients] : other.applied) applied[staleness] += gradients;
    dropped += other.dropped;
  }

  bool operator==(const Staleness&) const = default;
};

}  // namespace troupe
