#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct Conv2dOptions {
  std::int64_t stride = 1;
  /// The number of rows or columns of zeros added on every side of an image.
  std::int64_t padding = 0;
  /// Number of groups. The channels of the images and of the result are split into this many equal parts, and part i of
  /// the result is computed from part i of the images only. One group per channel makes a depthwise convolution.
  std::int64_t groups = 1;
  /// True: CPUs never compute the convolution by Winograd's algorithm; see set_exact_convolutions().
  bool direct = false;
};

/// Cross-correlation of images x [B, H, W, C] (channels last) with weights [KH, KW, C / groups, O], where O is the
/// number of output channels, plus a bias [O] if given. All must have the same float dtype, and the weights must not
/// have the batch axis B. The result has that dtype and the shape [B, (H + 2 padding - KH) / stride + 1, (W + 2 padding
/// - KW) / stride + 1, O]; quotients are rounded down.
Value conv2d(Value x, Value weights, Conv2dOptions options = {});
Value conv2d(Value x, Value weights, Value bias, Conv2dOptions options = {});

}  // namespace troupe
