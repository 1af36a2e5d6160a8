#pragma once

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
  /// The number of elements of x that an element of y depends on.
  std::int64_t window() const { return kernel_height * kernel_width * (channels / groups); }
  /// Whether each pixel of y depends only on the same pixel of x.
  bool is_pointwise() const { return kernel_height == 1 && kernel_width == 1 && stride == 1 && padding == 0; }
};

}  // namespace troupe::cuda
