#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// A flag on the device: a float32 scalar that is 1 if all elements of all `values` (float32) are finite, else 0. An
/// empty tensor counts as finite. It passes no gradient on.
Value all_finite(std::span<const Value> values);
Value all_finite(Value x);

/// 1 where x >= threshold, else 0 (0 for a NaN). It passes no gradient on. A flag of the whole group is
/// at_least(all_reduce(flag), world size).
Value at_least(Value x, double threshold);

/// x unchanged, for debugging: a NaN or an infinity in it ends the step with an Error before any gradient or update.
/// A run that should go on uses all_finite.
Value check_finite(Value x);

/// x unchanged, computed after `first`. It passes no gradient on.
Value control_dependency(Value x, Value first);

}  // namespace troupe
