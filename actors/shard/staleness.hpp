#pragma once

#include <cstdint>
#include <map>

namespace troupe {

/// How old gradients were when they were applied: how many versions their parameters had moved on.
struct Staleness {
  std::map<std::int64_t, std::int64_t> applied;  ///< gradients, by their staleness
  std::int64_t dropped = 0;                      ///< gradients that came too late

  /// Those of other shards, too.
  void add(const Staleness& other) {
    for (const auto& [staleness, gradients] : other.applied) applied[staleness] += gradients;
    dropped += other.dropped;
  }

  bool operator==(const Staleness&) const = default;
};

}  // namespace troupe
