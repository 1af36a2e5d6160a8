#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Lookup of rows of a parameter that lies elsewhere, and the form in which the rows and their gradients travel: one
/// row of the parameter for each index, in the order of the indices. A shard with some of the rows gets and sends these
/// alone, one behind the other, in as few rows of the batch as they fill.
struct RowLookup {
  /// The parameter. A row is a slice along its first axis.
  TensorInfo parameter;
  /// int32 or int64 [B, ...].
  TensorInfo indices;
  /// For each lookup of the model, the number of indices in a batch row.
  std::vector<std::int64_t> columns;

  /// Number of indices in one row of the batch.
  std::int64_t indices_per_row() const { return indices.shape.row_elements(); }
  /// Number of elements in one row of the parameter.
  std::int64_t width() const { return parameter.shape.row_elements(); }
  /// float32 [B, ..., width...]: the rows.
  TensorInfo rows() const;
  /// float32 [B, n * width + 1]: the gradients of the rows; then loss_is_finite of the replica, see ReplicaGradients.
  TensorInfo gradients() const { return {Shape{kBatch, indices_per_row() * width() + 1}, DType::float32}; }
  /// Number of batch rows that `rows` rows of the parameter fill.
  std::int64_t filled_by(std::int64_t rows) const { return (rows + indices_per_row() - 1) / indices_per_row(); }

  /// Throws Error, in the receiver's name, if the tensor is too small for `rows` rows or their gradients.
  void expect_filled(const Tensor& tensor, std::int64_t rows, const std::string& receiver) const;

  /// Offset of the n-th gradient in a tensor of gradients, in elements.
  std::int64_t gradient_offset(std::int64_t n) const { return n * width() + n / indices_per_row(); }
  /// The loss_is_finite in a tensor of gradients: 0, or negative if the loss is not finite. 0 without rows.
  float loss_is_finite(const Tensor& gradients) const;
};

/// Reads indices of either width. Throws Error, with `place` in front, unless all are in 0 .. rows - 1.
std::vector<std::int64_t> read_indices(const Tensor& indices, std::int64_t rows, const std::string& place);

}  // namespace troupe
