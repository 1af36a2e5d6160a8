#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Numpy's broadcasting, for the shape and gradient rules of ops.

/// The shape to which all inputs of an op are stretched: sizes are matched from the innermost axis on, and a size 1 is
/// repeated. Refuses shapes that do not match, and a result in which the batch is not the first axis.
Shape broadcast_shape(const OpInputs& inputs);

/// The gradient of an operand x that an op has stretched to the shape of dy: dy summed over the axes along which x was
/// repeated.
Value reduce_to(Value dy, Value x);

}  // namespace troupe
