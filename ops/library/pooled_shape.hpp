#pragma once

#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// What pooling makes of images float32[B, H, W, C] by the attributes kernel_size, stride and padding. Refuses other
/// inputs, sizes out of range, and a kernel that does not fit in the padded image.
Shape pooled_shape(const OpInputs& inputs);

}  // namespace troupe
