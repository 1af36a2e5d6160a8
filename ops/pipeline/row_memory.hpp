#pragma once

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A new, zeroed tensor in host memory for a field of a row. Small tensors that a thread makes one after the other
/// share blocks of memory, because threads that allocate one block for each field of each row would wait for each
/// other. A block lives as long as one of its tensors.
Tensor row_tensor(const Shape& shape, DType dtype);

}  // namespace troupe
