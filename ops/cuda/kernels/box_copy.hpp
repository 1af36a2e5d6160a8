#pragma once

#include <vector>

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/cuda/device/walk.cuh"

namespace troupe::cuda {

/// Copies a box of elements between two row-major arrays of the same rank on a device.
class BoxCopy {
 public:
  struct Corner {
    Shape shape;                      ///< shape of the array
    std::vector<std::int64_t> begin;  ///< corner of the box in the array
  };
  BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, std::size_t element_bytes);

  /// Launches the copy.
  void operator()(const Launch& where, const std::byte* from, std::byte* to) const;

 private:
  template <class Unit>
  void copy(const Launch& where, const std::byte* from, std::byte* to) const;

  std::vector<WalkAxis<2>> axes_;  // in bytes; the last axis is a run of single bytes
  std::int64_t from_offset_ = 0, to_offset_ = 0;
  bool empty_;
};

}  // namespace troupe::cuda
