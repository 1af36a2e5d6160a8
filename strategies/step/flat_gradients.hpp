#pragma once

#include <span>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Returns the elements of all values as one value with one axis, without the padding of pack() (reshape.hpp). The
/// values must have one dtype. Throws Error if there are no values.
Value flattened(std::span<const Value> values);
/// Returns views of a value of flattened(). View i has the shape shapes[i], and view i + 1 begins where view i ends.
std::vector<Value> unflattened(Value flat, std::span<const Shape> shapes);

}  // namespace troupe
