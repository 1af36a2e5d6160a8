#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The part of a batch that a replica works on. The loader sends it beside the fields of the batch, as an int64[4] that
/// holds the members in order.
struct BatchInfo {
  std::int64_t rows = 0;         ///< rows of the part
  std::int64_t global_rows = 0;  ///< rows of the whole batch
  std::int64_t first_row = 0;    ///< index of the part's first row in the whole batch
  std::int64_t step = 0;         ///< number of the step, counted from 0 over the life of the trainer

  bool operator==(const BatchInfo&) const = default;

  static TensorInfo info() { return {Shape{4}, DType::int64}; }
  /// Reads the numbers from a tensor. Throws Error if the tensor is not int64[4] or the host cannot access it.
  static BatchInfo read(const Tensor& tensor);
  /// Writes the numbers to a tensor. Throws Error if the tensor is not int64[4] or the host cannot access it.
  void write(const Tensor& tensor) const;
};

}  // namespace troupe
