#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Numpy's broadcasting, for the shape rules and gradient rules of element-wise ops.

/// The shape to which all inputs of an op are stretched: sizes are matched from the innermost axis on, and a size 1 is
/// repeated. Throws Error, in the name of the op, if the shapes do not match, or if the batch is an axis of the result
/// but not the first.
Shape broadcast_shape(const OpInputs& inputs);

/// The gradient of an operand x that an op has stretched to the shape of dy: dy summed over the axes along which x was
/// repeated.
Value reduce_to(Value dy, Value x);

}  // namespace troupe
