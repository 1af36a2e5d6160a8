#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Flags on the device, float32 scalars of 0 or 1 that decide whether an update is applied, and checks of finiteness.

/// 1 if all elements of all `values` (float32) are finite, else 0. An empty tensor counts as finite. It passes no
/// gradient on.
Value all_finite(std::span<const Value> values);
Value all_finite(Value x);

/// 1 where x >= threshold, else 0; a NaN gives 0. It passes no gradient on. at_least(all_reduce(flag), world size) is 1
/// if the flags of all replicas are.
Value at_least(Value x, double threshold);

/// x unchanged, for debugging: a NaN or an infinity in x ends the step with an Error before any gradient or update. Use
/// all_finite where the run should go on.
Value check_finite(Value x);

/// x unchanged, computed after `first`. It passes no gradient on.
Value control_dependency(Value x, Value first);

}  // namespace troupe
