#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/core/dtype.hpp"

namespace troupe {

/// The leading size of a value that has one row for each row of the batch. Shapes have this symbol in place of a
/// number, because batches may have different numbers of rows.
inline constexpr std::int64_t kBatch = -1;

/// The sizes of the axes of a tensor, outermost first. Only the first size may be kBatch.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 6;

  /// The shape of a scalar.
  Shape() = default;
  /// Throws Error if there are more than kMaxRank sizes or a size is negative, except kBatch at axis 0.
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  /// The size of an axis counted from the end: back(0) is the size of the innermost axis.
  std::int64_t back(std::size_t from_end) const { return sizes_[rank_ - 1 - from_end]; }
  std::span<const std::int64_t> sizes() const& { return {sizes_.data(), rank_}; }
  std::span<const std::int64_t> sizes() const&& = delete;  // the span would outlive the temporary shape
  std::vector<std::int64_t> list() const { return {sizes_.data(), sizes_.data() + rank_}; }

  /// True if the leading size is kBatch.
  bool has_batch() const { return rank_ > 0 && sizes_[0] == kBatch; }
  /// Returns the shape with `rows` in place of a leading size kBatch; a shape without kBatch is returned unchanged.
  Shape with_rows(std::int64_t rows) const;
  /// Returns the shape with `size` as the leading size. Throws Error for a scalar.
  Shape with_first(std::int64_t size) const;
  /// Number of elements; 1 for a scalar. Throws Error if the leading size is kBatch or the number exceeds 63 bits.
  std::int64_t elements() const;
  /// Number of elements of one row: the product of all sizes but the first; 1 for a scalar. Throws Error if the number
  /// exceeds 63 bits.
  std::int64_t row_elements() const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

/// The shape as text, such as `[B, 784]`, with B for kBatch.
std::string to_string(const Shape& shape);

/// Shape and dtype of a value. The leading size may be kBatch.
struct TensorInfo {
  Shape shape;
  DType dtype = DType::float32;

  bool operator==(const TensorInfo&) const = default;
};

/// Shape and dtype as text, such as `float32[B, 10]`.
std::string to_string(const TensorInfo& info);

/// Places float32 tensors one after the other in a block. Returns the offset of each tensor in elements, a multiple of
/// 16, and as a last entry the number of elements of the block. The shapes must not have the leading size kBatch.
std::vector<std::int64_t> pack_offsets(std::span<const TensorInfo> infos);

}  // namespace troupe
