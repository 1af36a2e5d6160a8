#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// a + b, a - b, a * b with numpy's broadcasting: sizes are matched from the innermost axis on, and a size 1 stretches.
/// Both float32. Throws Error if the shapes do not fit.
Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);

/// x * factor.
Value scale(Value x, double factor);

/// max(x, 0). The gradient at 0 is 0.
Value relu(Value x);

/// x unchanged. A NaN or an infinity in it ends the step with an Error before any gradient or update.
Value check_finite(Value x);

}  // namespace troupe
