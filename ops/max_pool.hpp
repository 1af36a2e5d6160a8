#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct MaxPoolOptions {
  std::int64_t window = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
};

/// The largest element of every window of images [B, H, W, C] -> [B, (H + 2 padding - window) / stride + 1, likewise W,
/// C]. The gradient goes to the first largest element of a window; NaNs do not take part.
Value max_pool(Value x, MaxPoolOptions options = {});

}  // namespace troupe
