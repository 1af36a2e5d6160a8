#include "troupe/ops/core/shape.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Shape::Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(sizes.size()) {
  if (rank_ > kMaxRank)
    throw Error("shape", "at most " + std::to_string(kMaxRank) + " axes, not " + std::to_string(rank_));
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (sizes_[axis] < 0 && !(axis == 0 && sizes_[axis] == kBatch))
      throw Error("shape",
                  "size " + std::to_string(sizes_[axis]) + " of axis " + std::to_string(axis) + " is negative");
  }
}

Shape Shape::with_rows(std::int64_t rows) const {
  Shape concrete = *this;
  if (has_batch()) concrete.sizes_[0] = rows;
  return concrete;
}

Shape Shape::with_first(std::int64_t size) const {
  if (rank_ == 0) throw Error("shape", "a scalar has no leading size");
  Shape other = *this;
  other.sizes_[0] = size;
  return other;
}

std::int64_t Shape::elements() const {
  if (has_batch()) throw Error("shape", to_string(*this) + " has no number of elements before the batch is known");
  std::int64_t product = 1;
  for (auto size : sizes()) {
    if (__builtin_mul_overflow(product, size, &product))
      throw Error("shape", to_string(*this) + " has more elements than 63 bits can count");
  }
  return product;
}

std::int64_t Shape::row_elements() const {
  if (rank_ == 0) return 1;
  return Shape(sizes().subspan(1)).elements();
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] == kBatch ? "B" : std::to_string(shape[axis]);
  }
  return text + "]";
}

std::string to_string(const TensorInfo& info) {
  return std::string(name_of(info.dtype)) + to_string(info.shape);
}

std::vector<std::int64_t> pack_offsets(std::span<const TensorInfo> infos) {
  constexpr std::int64_t kPackAlignment = 16;
  std::vector<std::int64_t> offsets{0};
  for (const auto& info : infos) {
    const auto padded = (info.shape.elements() + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
    offsets.push_back(offsets.back() + padded);
  }
  return offsets;
}

}  // namespace troupe
