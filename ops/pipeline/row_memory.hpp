#pragma once

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

struct Row;

/// A new, zeroed tensor in host memory for a field of a row. Small tensors that a thread makes one after the other
/// share blocks of memory, because threads that allocate one block for each field of each row would wait for each
/// other. A block lives as long as one of its tensors.
Tensor row_tensor(const Shape& shape, DType dtype);

/// The row with copies of its small values in memory of row_tensor(). A transform that holds rows packs them, because a
/// few rows would else keep the blocks of many others alive.
Row packed(Row row);

}  // namespace troupe
