#pragma once

#include <array>
#include <vector>

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/cuda/device/divide.cuh"

namespace troupe::cuda {

/// An axis of a Walk: its length, and the distance between its neighboring elements in each of kOperands arrays.
template <int kOperands>
struct WalkAxis {
  std::int64_t size;
  std::array<std::int64_t, kOperands> strides;
};

/// A walk over the elements of kOperands arrays that have the same axes but may have different strides. The elements
/// are numbered in row-major order of the axes. The walk maps the number of an element to its position in each array.
template <int kOperands>
class Walk {
 public:
  Walk() = default;
  /// `axes` begin with the outermost axis. Axes of length 1 are left out. Two neighboring axes are merged if in every
  /// array the stride of the outer one is the size times the stride of the inner one.
  explicit Walk(const std::vector<WalkAxis<kOperands>>& axes) {
    std::vector<WalkAxis<kOperands>> merged;
    for (const auto& axis : axes) {
      if (axis.size == 1) continue;
      if (!merged.empty() && is_continued(merged.back(), axis))
        merged.back() = {merged.back().size * axis.size, axis.strides};
      else
        merged.push_back(axis);
    }
    for (const auto& axis : merged) elements_ *= axis.size;
    axes_ = static_cast<int>(merged.size());
    for (int i = 0; i < axes_; ++i) {
      const auto& axis = merged[static_cast<std::size_t>(i)];
      if (axis.size > 0) sizes_[i] = Divisor(axis.size, elements_);
      for (int k = 0; k < kOperands; ++k) strides_[k][i] = axis.strides[static_cast<std::size_t>(k)];
    }
  }

  __host__ __device__ std::int64_t elements() const { return elements_; }

  /// Sets at[k] to the position of element i of the walk in array k.
  __device__ void find(std::int64_t i, std::int64_t (&at)[kOperands]) const {
    for (int k = 0; k < kOperands; ++k) at[k] = 0;
    for (int axis = axes_ - 1; axis >= 0; --axis) {
      // At the outermost axis the rest of i is the position along the axis.
      const auto outer = axis > 0 ? sizes_[axis].quotient(i) : 0;
      const auto place = i - outer * sizes_[axis].divisor();
      for (int k = 0; k < kOperands; ++k) at[k] += place * strides_[k][axis];
      i = outer;
    }
  }
  /// Returns the position of element i of the walk in the first array.
  __device__ std::int64_t find(std::int64_t i) const {
    std::int64_t at[kOperands];
    find(i, at);
    return at[0];
  }

 private:
  static bool is_continued(const WalkAxis<kOperands>& outer, const WalkAxis<kOperands>& inner) {
    for (std::size_t k = 0; k < kOperands; ++k)
      if (outer.strides[k] != inner.strides[k] * inner.size) return false;
    return true;
  }

  int axes_ = 0;
  std::int64_t elements_ = 1;
  Divisor sizes_[Shape::kMaxRank];
  std::int64_t strides_[kOperands][Shape::kMaxRank] = {};
};

/// Copies element i of a walk over two arrays. `from` is array number kFrom of the walk, and `to` is the other array.
template <class T, int kFrom = 0>
struct CopyWalk {
  Walk<2> walk;
  const T* from;
  T* to;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t at[2];
    walk.find(i, at);
    to[at[1 - kFrom]] = from[at[kFrom]];
  }
};

}  // namespace troupe::cuda
