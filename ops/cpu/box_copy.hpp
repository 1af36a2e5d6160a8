#pragma once

#include <span>
#include <vector>

#include "troupe/ops/core/shape.hpp"

namespace troupe::cpu {

/// Copies a box of elements between two row-major arrays of the same rank. The box has `sizes` elements along each axis
/// and begins at `from_begin` in one array and at `to_begin` in the other.
class BoxCopy {
 public:
  struct Corner {
    Shape shape;                      ///< shape of the array
    std::vector<std::int64_t> begin;  ///< corner of the box in the array
  };
  BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, std::size_t element_bytes);

  void operator()(const std::byte* from, std::byte* to) const;

 private:
  struct Axis {
    std::int64_t size;
    std::size_t from_stride, to_stride;  // bytes
  };
  void copy(const std::byte* from, std::byte* to, std::size_t axis) const;

  std::vector<Axis> axes_;  // outermost first, without the axes of a run
  std::size_t from_offset_ = 0, to_offset_ = 0, run_bytes_;
};

}  // namespace troupe::cpu
