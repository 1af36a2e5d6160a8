#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The rows of a batch that one replica computes, and the number of the step. The loader, the actor that loads batches,
/// sends a BatchInfo to each replica beside the fields of the batch, as a tensor int64[4] that holds the members in
/// order.
struct BatchInfo {
  std::int64_t rows = 0;         ///< number of rows that the replica computes
  std::int64_t global_rows = 0;  ///< number of rows of the whole batch
  std::int64_t first_row = 0;    ///< index in the whole batch of the first of these rows
  std::int64_t step = 0;         ///< number of the step, counted from 0 over the life of the trainer

  bool operator==(const BatchInfo&) const = default;

  static TensorInfo info() { return {Shape{4}, DType::int64}; }
  /// Reads the members from a tensor. Throws Error if the tensor is not int64[4] or the host cannot access it.
  static BatchInfo read(const Tensor& tensor);
  /// Writes the members to a tensor. Throws Error if the tensor is not int64[4] or the host cannot access it.
  void write(const Tensor& tensor) const;
};

/// The number of the last step of the update to which a step belongs, if `steps` steps make one update: at least 1, at
/// most 2^24, exact in float32, and counted from 1 again after 2^24 steps.
constexpr float end_of_update(std::int64_t step, std::int64_t steps) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << 24;
  return static_cast<float>((step / steps * steps + steps - 1) % kNumbers + 1);
}

}  // namespace troupe
