#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The argmax of a window that passes no gradient on, because the relu that the pooling took in (attribute `relu`) cut
/// it off.
inline constexpr std::int32_t kNoPlace = 255;

struct MaxPoolOptions {
  std::int64_t kernel_size = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
};

/// The largest element of every window of images [B, H, W, C] -> [B, (H + 2 padding - kernel_size) / stride + 1,
/// likewise W, C]. The gradient goes to the first largest element of a window. A window that holds a NaN gives NaN, and
/// its gradient goes to the first one.
Value max_pool(Value x, MaxPoolOptions options = {});

}  // namespace troupe
