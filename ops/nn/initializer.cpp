#include "troupe/ops/nn/initializer.hpp"

#include <algorithm>
#include <cmath>

#include "troupe/ops/core/random.hpp"

namespace troupe {

namespace {

double limit_of(Initializer::Kind kind, const Shape& shape) {
  if (shape.rank() < 2) throw Error("initializer", "fans need at least 2 axes, not " + to_string(shape));
  double kernel_elements = 1.0;
  for (std::size_t axis = 0; axis + 2 < shape.rank(); ++axis) kernel_elements *= static_cast<double>(shape[axis]);
  const auto fan_in = kernel_elements * static_cast<double>(shape.back(1));
  const auto fan_out = kernel_elements * static_cast<double>(shape.back(0));
  if (kind == Initializer::Kind::glorot_uniform) return std::sqrt(6.0 / (fan_in + fan_out));
  return std::sqrt((kind == Initializer::Kind::he_uniform ? 6.0 : 1.0) / fan_in);
}

}  // namespace

void Initializer::fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream) const {
  auto elements = tensor.mutable_data<float>();
  if (kind == Kind::constant) {
    std::fill(elements.begin(), elements.end(), static_cast<float>(value));
    return;
  }
  const auto limit = static_cast<float>(limit_of(kind, tensor.shape()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = (2.0F * uniform(seed, stream, i) - 1.0F) * limit;
}

}  // namespace troupe
