#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Max and average pooling of images [B, H, W, C], which must be float32 or a 16-bit float. The result has the same
// dtype and the shape [B, (H + 2 padding - kernel_size) / stride + 1, (W + 2 padding - kernel_size) / stride + 1, C];
// quotients are rounded down.

struct MaxPoolOptions {
  /// The number of rows of a window, which is also the number of its columns: 1 to 15.
  std::int64_t kernel_size = 2;
  std::int64_t stride = 2;
  /// The number of rows or columns added on every side of an image. It must be less than the kernel size. An added
  /// element is never the largest.
  std::int64_t padding = 0;
};

/// The largest element of every window. The gradient goes to the first largest element of the window. A window that
/// holds a NaN gives NaN, and its gradient goes to the first NaN.
Value max_pool(Value x, MaxPoolOptions options = {});

/// The position that the kernels of max_pool store for a window that passes no gradient on. With the fused relu
/// (attribute `relu`) these are the windows whose largest element is not above 0.
inline constexpr std::int32_t kNoPlace = 255;

struct AveragePoolOptions {
  /// The number of rows of a window, which is also the number of its columns.
  std::int64_t kernel_size = 2;
  std::int64_t stride = 2;
  /// The number of rows or columns added on every side of an image. It must be less than the kernel size and at most
  /// the longer side of the image. Added elements do not count in a mean.
  std::int64_t padding = 0;
};

/// The mean of every window. reduce_mean gives the mean of a whole image.
Value average_pool(Value x, AveragePoolOptions options = {});

}  // namespace troupe
