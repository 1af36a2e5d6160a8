#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// A lookup of rows of a parameter that shards hold, and the layout of the tensors in which the rows and their
/// gradients travel: one row of the parameter for each index, in the order of the indices. A shard that holds only some
/// of the rows sends these rows, and gets their gradients, one after the other in a tensor with filled_by() batch rows.
struct RowLookup {
  /// The parameter. A row is a slice along its first axis.
  TensorInfo parameter;
  /// Shape and dtype of the indices: int32 or int64, with the batch as the first axis.
  TensorInfo indices;
  /// For each op of the model that looks up rows of the parameter, the number of its indices in a batch row.
  std::vector<std::int64_t> columns;

  /// Number of indices in one row of the batch.
  std::int64_t indices_per_row() const { return indices.shape.row_elements(); }
  /// Number of elements in one row of the parameter.
  std::int64_t width() const { return parameter.shape.row_elements(); }
  /// Returns shape and dtype of the rows: float32, with the axes of `indices` followed by the axes of a row of the
  /// parameter.
  TensorInfo rows() const;
  /// Returns float32 [B, indices_per_row() * width() + 1]: a batch row has the gradients of its rows of the parameter,
  /// then the magnitude of the replica, see magnitude_of().
  TensorInfo gradients() const { return {Shape{kBatch, indices_per_row() * width() + 1}, DType::float32}; }
  /// Number of batch rows of a tensor that holds `rows` rows of the parameter, indices_per_row() in each batch row; the
  /// last batch row may hold fewer.
  std::int64_t filled_by(std::int64_t rows) const { return (rows + indices_per_row() - 1) / indices_per_row(); }

  /// Throws Error, whose text begins with `receiver`, if the tensor has fewer than filled_by(rows) batch rows, so that
  /// it cannot hold `rows` rows of the parameter or their gradients.
  void expect_filled(const Tensor& tensor, std::int64_t rows, const std::string& receiver) const;

  /// Offset of the n-th gradient in a tensor of gradients, in elements.
  std::int64_t gradient_offset(std::int64_t n) const { return n * width() + n / indices_per_row(); }
  /// The magnitude in the first batch row of a tensor of gradients; see magnitude_of(). 0 if the tensor has no
  /// elements.
  float magnitude(const Tensor& gradients) const;
};

/// Reads int32 or int64 indices. Throws Error, whose text begins with `place`, unless every index is in 0 .. rows - 1.
std::vector<std::int64_t> read_indices(const Tensor& indices, std::int64_t rows, const std::string& place);

}  // namespace troupe
