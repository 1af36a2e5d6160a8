#pragma once

#include "troupe/ops/cuda/divide.cuh"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The sizes of a convolution of images x [rows, height, width, channels] with weights [kernel height, kernel width,
/// channels of a group, filters], which gives y [rows, y height, y width, filters].
struct Convolution {
  std::int64_t rows, height, width, channels;
  std::int64_t y_height, y_width, filters;
  std::int64_t kernel_height, kernel_width;
  std::int64_t stride, padding, groups;

  Convolution(const Attributes& attributes, const Shape& x, const Shape& weights, const Shape& y)
      : rows(x[0]),
        height(x[1]),
        width(x[2]),
        channels(x[3]),
        y_height(y[1]),
        y_width(y[2]),
        filters(y[3]),
        kernel_height(weights[0]),
        kernel_width(weights[1]),
        stride(attributes.integer("stride")),
        padding(attributes.integer("padding")),
        groups(attributes.integer("groups")) {}

  std::int64_t pixels_of_row() const { return y_height * y_width; }
  /// Elements of x that an element of y depends on.
  std::int64_t window() const { return kernel_height * kernel_width * (channels / groups); }
  /// Whether each pixel of y depends on the same pixel of x alone.
  bool is_pointwise() const { return kernel_height == 1 && kernel_width == 1 && stride == 1 && padding == 0; }
};

/// Finds the parts of a number that counts through an array with three inner axes.
struct Split {
  Divisor outer, middle, inner;

  Split(std::int64_t outer_size, std::int64_t middle_size, std::int64_t inner_size, std::int64_t bound)
      : outer(outer_size, bound), middle(middle_size, bound), inner(inner_size, bound) {}

  /// i = ((a * outer + b) * middle + c) * inner + d.
  __device__ void operator()(std::int64_t i, std::int64_t& a, std::int64_t& b, std::int64_t& c, std::int64_t& d) const {
    const auto i1 = inner.quotient(i), i2 = middle.quotient(i1);
    d = i - i1 * inner.divisor();
    c = i1 - i2 * middle.divisor();
    a = outer.quotient(i2);
    b = i2 - a * outer.divisor();
  }
};

}  // namespace troupe::cuda
