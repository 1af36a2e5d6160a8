#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe::bench {

/// Sizes of a model to measure. 0 stands for the size of the published model.
struct ModelSizes {
  std::int64_t layers = 0;   ///< blocks of a transformer; at most this many blocks in each stage of a ResNet
  std::int64_t width = 0;    ///< columns of a transformer; channels of a ResNet's first stage
  std::int64_t length = 0;   ///< tokens of a sequence; rows and columns of an image
  std::int64_t classes = 0;  ///< size of the vocabulary; labels

  /// These sizes, with those of `published` in place of 0.
  ModelSizes or_else(const ModelSizes& published) const;
};

inline constexpr ModelSizes kGpt2Sizes{.layers = 12, .width = 768, .length = 1024, .classes = 50'257};
inline constexpr ModelSizes kResNet50Sizes{.layers = 6, .width = 64, .length = 224, .classes = 1000};

/// GPT-2, whose embedding is also the matrix of the logits: tokens int32 [B, T] -> logits [B, T, classes]. Heads have
/// 64 columns, or all columns of a narrower model. Source: Radford and others, "Language models are unsupervised
/// multitask learners" (2019).
Model gpt2(const ModelSizes& sizes);

/// ResNet-50 with the stride in the 3x3 convolutions, as in torchvision: [B, H, W, 3] -> logits [B, classes]. Source:
/// He and others, "Deep residual learning for image recognition" (CVPR 2016), table 1.
Sequential resnet50(const ModelSizes& sizes);

}  // namespace troupe::bench
