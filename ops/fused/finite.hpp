#pragma once

#include <limits>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Ops that make flags, float32 scalars of 0 or 1 by which updates decide on the device whether they are applied; a
// check for debugging; and an op that orders computations.

/// Returns 1 if all elements of all `values`, which must be float32, are finite, else 0. An empty tensor counts as
/// finite. The op has no gradient.
Value all_finite(std::span<const Value> values);
Value all_finite(Value x);

/// Returns the largest magnitude of all elements of all `values`, which must be float32, as a scalar. A NaN counts as
/// larger than infinity, so the result is a NaN if an element is. Values without elements have the magnitude 0. A
/// result above `bound` becomes infinity. The op has no gradient.
Value largest_magnitude(std::span<const Value> values, double bound = std::numeric_limits<double>::infinity());

/// Returns 1 where x >= threshold, else 0; a NaN gives 0. The op has no gradient. at_least(all_reduce(flag), number of
/// replicas) is 1 if the flag is 1 on all replicas.
Value at_least(Value x, double threshold);

/// Returns 1 where x <= threshold, else 0; a NaN gives 0. The op has no gradient.
Value at_most(Value x, double threshold);

/// Returns x unchanged, for debugging: a NaN or an infinity in x ends the step with an Error. The gradient of x is
/// computed after the check. Use all_finite instead if the run should continue.
Value check_finite(Value x);

/// Returns x unchanged, computed after `first`. The op has no gradient.
Value control_dependency(Value x, Value first);

}  // namespace troupe
