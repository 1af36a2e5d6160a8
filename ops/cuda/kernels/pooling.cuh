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

/// One axis of images and of their pooled images.
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
  /// The windows that contain a position.
  __device__ Span windows(std::int64_t position) const {
    const auto padded = position + padding;
    const auto end = stride.quotient(padded) + 1;
    return {padded < kernel_size ? 0 : stride.quotient(padded - kernel_size) + 1,
            end < pooled_size ? end : pooled_size};
  }
};

/// The coordinates of an element, or of some lanes, in an array [rows, height, width, channels].
struct ImagePlace {
  std::int64_t row, h, w, channel;
};

/// The axes of an array of images, to convert between an element's index and its coordinates. With several lanes, that
/// many channels count as one; their number must divide the number of channels.
class Images {
 public:
  Images(const Shape& shape, int lanes)
      : height_(shape[1], shape.elements()),
        width_(shape[2], shape.elements()),
        channels_(shape[3] / lanes, shape.elements()) {}

  __device__ ImagePlace place(std::int64_t i) const {
    const auto pixel = channels_.quotient(i), line = width_.quotient(pixel), row = height_.quotient(line);
    return {row, line - row * height_.divisor(), pixel - line * width_.divisor(), i - pixel * channels_.divisor()};
  }
  __device__ std::int64_t at(std::int64_t row, std::int64_t h, std::int64_t w, std::int64_t channel) const {
    return ((row * height_.divisor() + h) * width_.divisor() + w) * channels_.divisor() + channel;
  }

 private:
  Divisor height_, width_, channels_;
};

/// Images x and their pooled images y.
struct Pooling {
  PooledAxis height, width;
  Images x, y;

  Pooling(const Attributes& attributes, const Shape& x_shape, const Shape& y_shape, int lanes)
      : height(axis(attributes, x_shape[1], y_shape[1])),
        width(axis(attributes, x_shape[2], y_shape[2])),
        x(x_shape, lanes),
        y(y_shape, lanes) {}

 private:
  static PooledAxis axis(const Attributes& attributes, std::int64_t size, std::int64_t pooled_size) {
    const auto padding = attributes.integer("padding");
    return {size, pooled_size, attributes.integer("kernel_size"), padding,
            Divisor(attributes.integer("stride"), size + padding)};
  }
};

/// A pooling by threads that compute kLanes channels each, or one channel if kLanes does not divide their number.
template <int kLanes>
class PoolingByLanes {
 public:
  PoolingByLanes(const Attributes& attributes, const Shape& x_shape, const Shape& y_shape)
      : divides_(x_shape[3] % kLanes == 0),
        by_lanes_(attributes, x_shape, y_shape, divides_ ? kLanes : 1),
        by_one_(attributes, x_shape, y_shape, 1) {}

  /// Calls f(lanes, pooling), where `lanes` is a std::integral_constant, for arrays that may begin at any element.
  template <class F, class... Elements>
  void run(F f, const Elements*... arrays) const {
    if (divides_ && (begins_with_lanes<kLanes>(arrays) && ...))
      f(std::integral_constant<int, kLanes>(), by_lanes_);
    else
      f(std::integral_constant<int, 1>(), by_one_);
  }

 private:
  bool divides_;
  Pooling by_lanes_, by_one_;
};

}  // namespace troupe::cuda
