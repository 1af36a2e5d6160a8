#pragma once

#include "troupe/ops/nn/normalization.hpp"

namespace troupe::examples {

/// Two 3x3 convolutions of `filters` channels with batch norm, and a shortcut around them, which is a 1x1 convolution
/// if the size changes.
inline Residual residual_block(std::int64_t filters, std::int64_t stride, bool same_size) {
  const auto convolution = [&](std::int64_t kernel_size, std::int64_t step) {
    return Conv2d{.filters = filters,
                  .kernel_size = kernel_size,
                  .options = {.stride = step, .padding = kernel_size / 2},
                  .initializer = Initializer::he_uniform(),
                  .bias = false};
  };
  Residual block{.body = {convolution(3, stride), BatchNorm{}, relu, convolution(3, 1), BatchNorm{}},
                 .activation = relu};
  if (!same_size) block.shortcut = {convolution(1, stride), BatchNorm{}};
  return block;
}

/// ResNet-20 for 10 classes: three stages of three blocks with 16, 32 and 64 channels. Source: He and others, "Deep
/// residual learning for image recognition" (CVPR 2016), section 4.2.
inline Sequential resnet20() {
  std::vector<Layer> layers{Conv2d{.filters = 16,
                                   .kernel_size = 3,
                                   .options = {.padding = 1},
                                   .initializer = Initializer::he_uniform(),
                                   .bias = false},
                            BatchNorm{}, relu};
  for (int stage = 0; stage < 3; ++stage)
    for (int block = 0; block < 3; ++block) {
      const bool shrinks = stage > 0 && block == 0;
      layers.emplace_back(residual_block(std::int64_t{16} << stage, shrinks ? 2 : 1, !shrinks));
    }
  layers.emplace_back(GlobalAveragePool{});
  layers.emplace_back(Dense{10});
  return Sequential(std::move(layers));
}

}  // namespace troupe::examples
