#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct Conv2dOptions {
  std::int64_t stride = 1;
  /// Rows and columns of zeros added on every side.
  std::int64_t padding = 0;
  /// Number of groups into which the channels of images and results divide. A group of results is computed from the
  /// same group of the images only. As many groups as channels make a depthwise convolution.
  std::int64_t groups = 1;
};

/// Cross-correlation of images [B, H, W, C] (channels last) with weights [KH, KW, C / groups, O], plus a bias [O] if
/// given. The result is [B, (H + 2 padding - KH) / stride + 1, (W + 2 padding - KW) / stride + 1, O].
Value conv2d(Value x, Value weights, Conv2dOptions options = {});
Value conv2d(Value x, Value weights, Value bias, Conv2dOptions options = {});

}  // namespace troupe
