#pragma once

#include <type_traits>

#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/lanes.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// A range of positions along one axis: `begin` up to but not including `end`.
struct Span {
  std::int64_t begin, end;
};

/// The height or the width of images and of their pooled images, and the windows along it.
struct PooledAxis {
  std::int64_t size, pooled_size, kernel_size, padding;
  Divisor stride;

  /// The first position of window i, which may be in the padding.
  __device__ std::int64_t start(std::int64_t i) const { return i * stride.divisor() - padding; }
  /// The positions of window i that are in the image.
  __device__ Span inside(std::int64_t i) const {
    const auto begin = start(i), end = begin + kernel_size;
    return {begin > 0 ? begin : 0, end < size ? end : size};
  }
  /// The windows that contain a position of the image.
  __device__ Span windows(std::int64_t position) const {
    const auto padded = position + padding;
    const auto end = stride.quotient(padded) + 1;
    return {padded < kernel_size ? 0 : stride.quotient(padded - kernel_size) + 1,
            end < pooled_size ? end : pooled_size};
  }
};

/// Images x and their pooled images y, as arrays [rows, height, width, channels]. With several lanes, that many
/// neighboring channels count as one. The number of lanes must divide the number of channels.
struct Pooling {
  PooledAxis height, width;
  Split x, y;
  bool relu;  // whether a relu follows the pooling

  Pooling(const Attributes& attributes, const Shape& x_shape, const Shape& y_shape, int lanes)
      : height(axis(attributes, x_shape[1], y_shape[1])),
        width(axis(attributes, x_shape[2], y_shape[2])),
        x(x_shape[1], x_shape[2], x_shape[3] / lanes, x_shape.elements()),
        y(y_shape[1], y_shape[2], y_shape[3] / lanes, y_shape.elements()),
        relu(attributes.has("relu") && attributes.flag("relu")) {}

 private:
  static PooledAxis axis(const Attributes& attributes, std::int64_t size, std::int64_t pooled_size) {
    const auto padding = attributes.integer("padding");
    return {size, pooled_size, attributes.integer("kernel_size"), padding,
            Divisor(attributes.integer("stride"), size + padding)};
  }
};

/// Launches a pooling of elements of type T, or its gradient, by threads that compute kLanes neighboring channels each,
/// or one channel if run() cannot use kLanes.
template <class T>
class PoolingByLanes {
 public:
  PoolingByLanes(const Attributes& attributes, const Shape& x_shape, const Shape& y_shape)
      : divides_(x_shape[3] % kLanes == 0),
        by_lanes_(attributes, x_shape, y_shape, divides_ ? kLanes : 1),
        by_one_(attributes, x_shape, y_shape, 1) {}

  /// Calls Element<T, n>{pooling, arrays...}(i) on the device for every group i of n neighboring channels of an array
  /// of `elements` elements. n is kLanes if that divides the channels and all arrays are aligned for it, else 1.
  template <template <class, int> class Element, class... Elements>
  void run(const Launch& where, std::int64_t elements, Elements*... arrays) const {
    if (divides_ && (begins_with_lanes<kLanes>(arrays) && ...))
      run_by<kLanes, Element>(where, by_lanes_, elements, arrays...);
    else
      run_by<1, Element>(where, by_one_, elements, arrays...);
  }

 private:
  static constexpr int kLanes = kWidestLanes<T>;

  template <int kCount, template <class, int> class Element, class... Elements>
  static void run_by(const Launch& where, const Pooling& pooling, std::int64_t elements, Elements*... arrays) {
    for_each(where, elements / kCount,
             Element<T, kCount>{pooling, lanes_of<std::remove_const_t<Elements>, kCount>(arrays)...});
  }

  bool divides_;
  Pooling by_lanes_, by_one_;
};

}  // namespace troupe::cuda
