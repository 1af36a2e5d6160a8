#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The shape to which all inputs of an op stretch by numpy's rules: sizes are matched from the innermost axis on, and a
/// size 1 stretches. Refuses other shapes.
Shape broadcast_shape(const OpInputs& inputs);

/// The gradient of an operand `x` that was stretched to the shape of `dy`: dy summed over the axes along which it was.
Value reduce_to(Value dy, Value x);

}  // namespace troupe
