#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct AveragePoolOptions {
  std::int64_t kernel_size = 2;
  std::int64_t stride = 2;
  /// Rows and columns added on every side; they do not count in a mean. Less than the kernel size.
  std::int64_t padding = 0;
};

/// The mean of every window of images [B, H, W, C] -> [B, (H + 2 padding - kernel_size) / stride + 1, likewise W, C].
/// For the mean of whole images, see reduce_mean.
Value average_pool(Value x, AveragePoolOptions options = {});

}  // namespace troupe
