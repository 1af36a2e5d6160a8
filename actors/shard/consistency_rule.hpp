#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace troupe {

/// Treatment of gradients whose staleness would exceed the bound of a ConsistencyRule.
enum class LateGradients {
  /// An answer to a request or an update waits as long as it would make the gradient of another worker too stale, so no
  /// gradient is late.
  awaited,
  /// A gradient is dropped if its staleness exceeds the bound.
  dropped,
};

/// The rule by which a shard applies gradients and answers requests for parameters. Every update makes a new version of
/// the parameters. The staleness of a gradient is the number of versions between the parameters that it was computed
/// from and those that it is applied to.
struct ConsistencyRule {
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  int workers = 1;
  /// Number of gradients in one update. An update has fewer if no more can arrive: at the end of a run, or after
  /// workers were lost.
  int quorum = 1;
  /// The largest staleness with which a gradient is applied.
  std::int64_t staleness = 0;
  LateGradients late = LateGradients::awaited;
  /// If not 0, a gradient g that was computed from parameters v is applied to parameters w as g + compensation * g * g
  /// * (w - v), element by element, or as g where that is not finite. Source: S. Zheng et al., Asynchronous stochastic
  /// gradient descent with delay compensation, 2017.
  double compensation = 0.0;

  /// Every update is made of the gradients of all workers.
  static ConsistencyRule synchronous(int workers) { return {.workers = workers, .quorum = workers}; }
  /// Every update is made of the first `workers` - `backup` gradients that arrive; the other gradients are dropped.
  /// Throws Error if `backup` is negative. Source: J. Chen et al., Revisiting distributed synchronous SGD, 2016.
  static ConsistencyRule with_backup(int workers, int backup);
  /// Every gradient makes an update. It is applied when it arrives, or later, as soon as the update makes no other
  /// gradient staler than `staleness`.
  static ConsistencyRule bounded(int workers, std::int64_t staleness) {
    return {.workers = workers, .staleness = staleness};
  }
  /// Every gradient is applied when it arrives.
  static ConsistencyRule asynchronous(int workers) { return bounded(workers, kUnbounded); }
  /// Every gradient is applied when it arrives, with `compensation`.
  static ConsistencyRule compensated(int workers, double compensation) {
    return {.workers = workers, .staleness = kUnbounded, .compensation = compensation};
  }

  /// Throws Error, with the reason, if a value is out of range. A quorum above 1 and below `workers` needs
  /// LateGradients::dropped and a staleness of 0.
  void check() const;

  bool operator==(const ConsistencyRule&) const = default;
};

/// Numbers of gradients that shards have applied, by their staleness (see ConsistencyRule), and dropped.
struct Staleness {
  std::map<std::int64_t, std::int64_t> applied;  ///< number of gradients, by staleness
  std::int64_t dropped = 0;                      ///< number of gradients that arrived too late

  /// The number of gradients that the shards have applied.
  std::int64_t gradients() const {
    std::int64_t sum = 0;
    for (const auto& [staleness, count] : applied) sum += count;
    return sum;
  }

  /// Adds the counts of other shards.
  void add(const Staleness& other) {
    for (const auto& [staleness, gradients] : other.applied) applied[staleness] += gradients;
    dropped += other.dropped;
  }

  bool operator==(const Staleness&) const = default;
};

}  // namespace troupe
