#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/core/tensor_info.hpp"

namespace troupe {

/// Which rows of which batch a replica works on. It travels beside the fields as int64[4].
struct BatchInfo {
  std::int64_t rows = 0;         ///< of this replica's part
  std::int64_t global_rows = 0;  ///< of the whole batch
  std::int64_t first_row = 0;    ///< of the part, in the batch
  std::int64_t step = 0;         ///< counted from 0 over the life of the trainer

  bool operator==(const BatchInfo&) const = default;

  static TensorInfo info() { return {Shape{4}, DType::int64}; }
  /// Throws Error if the tensor is not int64[4].
  static BatchInfo read(const Tensor& tensor);
  void write(const Tensor& tensor) const;
};

}  // namespace troupe
