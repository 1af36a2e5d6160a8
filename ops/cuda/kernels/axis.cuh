#pragma once

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/cuda/device/divide.cuh"

namespace troupe::cuda {

/// The lines of a row-major array along one axis. A line consists of the `size` elements that differ only in their
/// index along the axis.
struct AxisLines {
  std::int64_t size, outer = 1;
  Divisor inner;
  std::int64_t distance = 1;  ///< between neighboring elements of a line

  AxisLines(const Shape& shape, std::int64_t axis) : size(shape[static_cast<std::size_t>(axis)]) {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (static_cast<std::int64_t>(i) < axis) outer *= shape[i];
      if (static_cast<std::int64_t>(i) > axis) distance *= shape[i];
    }
    if (distance > 0) inner = Divisor(distance, lines());
  }
  std::int64_t lines() const { return outer * distance; }

  /// The index of the first element of a line.
  __device__ std::int64_t first(std::int64_t line) const {
    const auto o = inner.quotient(line);
    return o * size * inner.divisor() + line - o * inner.divisor();
  }
};

}  // namespace troupe::cuda
