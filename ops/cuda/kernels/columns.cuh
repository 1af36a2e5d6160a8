#pragma once

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/elements.cuh"

namespace troupe::cuda {

/// Copies one element of x to the columns, an array [rows of x, y height, y width, kernel height, kernel width,
/// channels]. For each pixel of y the columns hold next to each other the elements of x that the pixel depends on, with
/// zeros for the padding. y is the product of the columns and the weights.
template <class T>
class GatherColumns {
 public:
  /// Gathers from `rows` images, which begin at `x`, to `columns`.
  GatherColumns(const Convolution& shape, std::int64_t rows, const T* x, T* columns)
      : shape_(shape),
        pixel_(shape.y_height, shape.y_width, shape.window(), rows * shape.pixels_of_row() * shape.window()),
        tap_(shape.kernel_height, shape.kernel_width, shape.channels, shape.window()),
        x_(x),
        columns_(columns) {}

  __device__ void operator()(std::int64_t i) const {
    const auto [row, y, x, in_window] = pixel_(i);
    // The position in the window: row b and column c of the kernel, and channel d.
    const auto tap = tap_(in_window);
    const auto h = y * shape_.stride + tap.b - shape_.padding, w = x * shape_.stride + tap.c - shape_.padding;
    const bool inside = h >= 0 && h < shape_.height && w >= 0 && w < shape_.width;
    // T{} has no bit set, which is zero in every dtype.
    columns_[i] = inside ? x_[((row * shape_.height + h) * shape_.width + w) * shape_.channels + tap.d] : T{};
  }

 private:
  Convolution shape_;
  Split pixel_, tap_;
  const T* x_;
  T* columns_;
};

/// Computes an element of the gradient of x: the sum, in a fixed order, of the float32 gradients of its copies in the
/// columns (see GatherColumns).
template <class T>
class SumColumns {
 public:
  SumColumns(const Convolution& shape, std::int64_t rows, const float* columns, T* x)
      : shape_(shape),
        place_(shape.height, shape.width, shape.channels, rows * shape.height * shape.width * shape.channels),
        stride_(shape.stride, std::int64_t{1} << 31),
        columns_(columns),
        x_(x) {}

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = place_(i);
    float sum = 0.0F;
    for (std::int64_t ky = 0; ky < shape_.kernel_height; ++ky) {
      const auto y = position(h + shape_.padding - ky, shape_.y_height);
      for (std::int64_t kx = 0; kx < shape_.kernel_width && y >= 0; ++kx) {
        const auto x = position(w + shape_.padding - kx, shape_.y_width);
        if (x < 0) continue;
        const auto pixel = (row * shape_.y_height + y) * shape_.y_width + x;
        sum += columns_[((pixel * shape_.kernel_height + ky) * shape_.kernel_width + kx) * shape_.channels + channel];
      }
    }
    store(x_, i, sum);
  }

 private:
  /// Returns, along one axis, the pixel of y whose window begins at position `begin` of the padded image; -1 if there
  /// is none.
  __device__ std::int64_t position(std::int64_t begin, std::int64_t size) const {
    if (begin < 0) return -1;
    const auto pixel = stride_.quotient(begin);
    return pixel * stride_.divisor() == begin && pixel < size ? pixel : -1;
  }

  Convolution shape_;
  Split place_;
  Divisor stride_;
  const float* columns_;
  T* x_;
};

}  // namespace troupe::cuda
