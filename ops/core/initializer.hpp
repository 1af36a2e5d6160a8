#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// How a parameter is initialised. The bits depend on (seed, stream, shape) only, never on the device or the replica.
struct Initializer {
  enum class Kind { constant, glorot_uniform, he_uniform, fan_in_uniform, uniform, normal };

  Kind kind = Kind::constant;
  double value = 0.0;

  static Initializer zeros() { return {}; }
  static Initializer constant(double value) { return {Kind::constant, value}; }
  /// Uniform in +-sqrt(6 / (fan in + fan out)): Glorot and Bengio, "Understanding the difficulty of training deep
  /// feedforward neural networks" (AISTATS 2010).
  static Initializer glorot_uniform() { return {Kind::glorot_uniform, 0.0}; }
  /// Uniform in +-sqrt(6 / fan in): He, Zhang, Ren and Sun, "Delving deep into rectifiers" (ICCV 2015).
  static Initializer he_uniform() { return {Kind::he_uniform, 0.0}; }

  /// Uniform in +-sqrt(1 / fan in), the default of PyTorch's layers: smaller than the two above. At usual rates,
  /// training then does not amplify last-bit differences.
  static Initializer fan_in_uniform() { return {Kind::fan_in_uniform, 0.0}; }

  /// Uniform in +-limit.
  static Initializer uniform(double limit) { return {Kind::uniform, limit}; }
  /// Normal with mean 0: Box and Muller's method.
  static Initializer normal(double deviation) { return {Kind::normal, deviation}; }

  /// Fills a float32 tensor. The last axis counts the outputs, the one before it the inputs; axes before those are the
  /// kernel of a convolution and multiply both. `stream` distinguishes the parameters of a model.
  void fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream) const;

  bool operator==(const Initializer&) const = default;
};

}  // namespace troupe
