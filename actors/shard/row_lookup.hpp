#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// How a worker looks up rows of a parameter that lies elsewhere, and how those rows and their gradients travel: one
/// row of the parameter for each index, in the order of the indices. A shard that has only some of the rows gets and
/// sends those alone, one behind the other, in as few rows of the batch as they fill.
struct RowLookup {
  /// The parameter, of which a row is a slice along the first axis.
  TensorInfo parameter;
  /// int32 or int64 [B, ...].
  TensorInfo indices;
  /// The model may look up several times: how many indices of a batch row each time takes.
  std::vector<std::int64_t> columns;

  /// Indices of one row of the batch.
  std::int64_t indices_per_row() const { return indices.shape.row_elements(); }
  /// Elements of one row of the parameter.
  std::int64_t width() const { return parameter.shape.row_elements(); }
  /// float32 [B, ..., width...]: the rows.
  TensorInfo rows() const;
  /// float32 [B, n * width + 1]: the gradients of the rows; then the replica's verdict on the loss.
  TensorInfo gradients() const;
  /// Rows of the batch that so many rows of the parameter fill.
  std::int64_t filled_by(std::int64_t rows) const;

  /// Throws Error, in the name of who got the tensor, if it is too small for so many rows, or their gradients.
  void expect_filled(const Tensor& tensor, std::int64_t rows, const std::string& receiver) const;

  /// Where the n-th gradient begins, in elements, and the verdict of such a tensor: 0 if it has no rows.
  std::int64_t gradient_offset(std::int64_t n) const;
  float verdict_of(const Tensor& gradients) const;
};

/// The indices as they are. Throws Error, with the place in front, if one is not in 0 .. rows - 1.
std::vector<std::int64_t> read_indices(const Tensor& indices, std::int64_t rows, const std::string& place);

}  // namespace troupe
