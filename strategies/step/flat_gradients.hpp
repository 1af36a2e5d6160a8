#pragma once

#include <span>
#include <vector>

#include "troupe/strategies/step/gradient_hook.hpp"

namespace troupe {

/// Returns the elements of all values as one value with one axis, without the padding of pack() (reshape.hpp). The
/// values must have one dtype. Throws Error if there are no values.
Value flattened(std::span<const Value> values);
/// Returns views of a value of flattened(). View i has the shape shapes[i], and view i + 1 begins where view i ends.
std::vector<Value> unflattened(Value flat, std::span<const Shape> shapes);

/// Adds an op that assigns the next value of a state (GraphBuilder::replica_state). The op does nothing in a step in
/// which the loss is not finite.
void assign_state(Value state, Value next, const GradientHook::Site& site);

}  // namespace troupe
