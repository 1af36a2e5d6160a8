#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The initial values of a parameter. The bits depend on (seed, stream, shape) alone, not on the device or the replica.
struct Initializer {
  enum class Kind { constant, glorot_uniform, he_uniform, fan_in_uniform, uniform, normal };

  Kind kind = Kind::constant;
  double value = 0.0;  ///< the constant, the limit of `uniform`, or the standard deviation of `normal`

  static Initializer zeros() { return {}; }
  static Initializer constant(double value) { return {Kind::constant, value}; }
  /// Uniform in +-sqrt(6 / (fan in + fan out)): Glorot and Bengio, "Understanding the difficulty of training deep
  /// feedforward neural networks" (AISTATS 2010).
  static Initializer glorot_uniform() { return {Kind::glorot_uniform, 0.0}; }
  /// Uniform in +-sqrt(6 / fan in): He, Zhang, Ren and Sun, "Delving deep into rectifiers" (ICCV 2015).
  static Initializer he_uniform() { return {Kind::he_uniform, 0.0}; }
  /// Uniform in +-sqrt(1 / fan in), the default of PyTorch's layers. The numbers are smaller than those of Glorot and
  /// He, so that training at usual rates does not amplify differences in the last bits.
  static Initializer fan_in_uniform() { return {Kind::fan_in_uniform, 0.0}; }
  /// Uniform in +-limit.
  static Initializer uniform(double limit) { return {Kind::uniform, limit}; }
  /// Normal with mean 0, by the method of Box and Muller.
  static Initializer normal(double deviation) { return {Kind::normal, deviation}; }

  /// Fills a float32 tensor in host memory. The last axis counts the outputs and the axis before it the inputs; further
  /// axes are the kernel of a convolution and multiply both fans. Every parameter of a model has a stream of its own.
  /// Throws Error if the fans need two axes and the tensor has fewer.
  void fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream) const;

  bool operator==(const Initializer&) const = default;
};

}  // namespace troupe
