#pragma once

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe::testing {

/// Images of 8 x 8 of three kinds, shuffled in batches of 16. Every third number of an image of kind k, from number k
/// on, is larger.
inline Dataset images_of_kinds(std::int64_t count, std::int64_t channels) {
  const auto numbers = 8 * 8 * channels;
  Tensor features(Shape{count, 8, 8, channels}, DType::float32), labels(Shape{count}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i) {
    const auto kind = static_cast<std::int32_t>(i / numbers % 3);
    labels.mutable_data<std::int32_t>()[i / numbers] = kind;
    features.mutable_data<float>()[i] = uniform(3, 1, static_cast<std::uint64_t>(i)) + (i % 3 == kind ? 0.5F : 0.0F);
  }
  return Dataset(features, labels, 3).shuffle(count).batch(16);
}

}  // namespace troupe::testing
