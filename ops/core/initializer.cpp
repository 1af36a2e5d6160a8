#include "troupe/ops/core/initializer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/random.hpp"

namespace troupe {

namespace {

/// Returns the limit l of an initializer that draws uniform numbers from [-l, l). Throws Error if the kind depends on a
/// fan and the shape has fewer than two axes.
double limit_of(const Initializer& initializer, const Shape& shape) {
  const auto kind = initializer.kind;
  if (kind == Initializer::Kind::uniform) return initializer.value;
  if (shape.rank() < 2) throw Error("initializer", "fans need at least 2 axes, not " + to_string(shape));
  double kernel_elements = 1.0;
  for (std::size_t axis = 0; axis + 2 < shape.rank(); ++axis) kernel_elements *= static_cast<double>(shape[axis]);
  const auto fan_in = kernel_elements * static_cast<double>(shape.back(1));
  const auto fan_out = kernel_elements * static_cast<double>(shape.back(0));
  if (kind == Initializer::Kind::glorot_uniform) return std::sqrt(6.0 / (fan_in + fan_out));
  return std::sqrt((kind == Initializer::Kind::he_uniform ? 6.0 : 1.0) / fan_in);
}

/// Returns the i-th normal number of a random stream, with mean 0 and deviation 1, from the uniform numbers 2 i and 2 i
/// + 1 of the stream.
double normal_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  const auto first = 1.0 - static_cast<double>(uniform(seed, stream, 2 * i));  // in (0, 1], so it has a logarithm
  const auto second = static_cast<double>(uniform(seed, stream, 2 * i + 1));
  return std::sqrt(-2.0 * std::log(first)) * std::cos(2.0 * std::numbers::pi * second);
}

}  // namespace

void Initializer::fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream) const {
  const DefaultFloatMode mode;
  auto elements = tensor.mutable_data<float>();
  if (kind == Kind::constant) {
    std::fill(elements.begin(), elements.end(), static_cast<float>(value));
    return;
  }
  if (kind == Kind::normal) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = static_cast<float>(value * normal_number(seed, stream, i));
    return;
  }
  const auto limit = static_cast<float>(limit_of(*this, tensor.shape()));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = (2.0F * troupe::uniform(seed, stream, i) - 1.0F) * limit;
}

}  // namespace troupe
