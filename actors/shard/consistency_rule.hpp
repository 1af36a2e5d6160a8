#pragma once

#include <cstdint>
#include <limits>

namespace troupe {

/// What becomes of gradients that would be too old.
enum class LateGradients {
  awaited,  ///< there are none: updates wait for the workers whose gradients would become too old
  dropped,  ///< they count for nothing
};

/// When a shard of the parameters applies gradients, and when it answers workers that ask for parameters. A version of
/// the parameters is what an update makes; the staleness of a gradient is how many versions the parameters have moved
/// on from those that it was computed from.
struct ConsistencyRule {
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  int workers = 1;
  /// Gradients that make one update, if as many can still come.
  int quorum = 1;
  /// No gradient with a larger staleness is applied.
  std::int64_t staleness = 0;
  LateGradients late = LateGradients::awaited;
  /// Not 0: a gradient g, computed from parameters v, is applied to parameters w as g + compensation g g (w - v),
  /// element by element. Source: S. Zheng et al., Asynchronous stochastic gradient descent with delay compensation,
  /// 2017.
  double compensation = 0.0;

  /// Every update is made of the gradients of all workers.
  static ConsistencyRule synchronous(int workers);
  /// Of those of the workers that come first, all but `backup`. Source: J. Chen et al., Revisiting distributed
  /// synchronous SGD, 2016.
  static ConsistencyRule with_backup(int workers, int backup);
  /// Every gradient is applied when it comes, or as soon as that makes none of the others staler than the bound.
  static ConsistencyRule bounded(int workers, std::int64_t staleness);
  /// Every gradient is applied when it comes.
  static ConsistencyRule asynchronous(int workers);
  static ConsistencyRule compensated(int workers, double compensation);

  /// Throws Error that names what is out of range.
  void check() const;

  bool operator==(const ConsistencyRule&) const = default;
};

}  // namespace troupe
