#pragma once

#include <cstdint>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The rule for the initial values of a parameter. The bits of the values depend only on the initializer and on the
/// seed, stream and shape that fill() gets, not on the device or the replica.
struct Initializer {
  enum class Kind { constant, glorot_uniform, he_uniform, fan_in_uniform, uniform, normal };

  Kind kind = Kind::constant;
  double value = 0.0;  ///< the constant, the limit of `uniform` or the deviation of `normal`; else unused

  static Initializer zeros() { return {}; }
  static Initializer constant(double value) { return {Kind::constant, value}; }
  /// Uniform in [-l, l) with l = sqrt(6 / (fan in + fan out)); fill() defines the fans. Source: Glorot and Bengio,
  /// "Understanding the difficulty of training deep feedforward neural networks" (AISTATS 2010).
  static Initializer glorot_uniform() { return {Kind::glorot_uniform, 0.0}; }
  /// Uniform in [-l, l) with l = sqrt(6 / fan in). Source: He, Zhang, Ren and Sun, "Delving deep into rectifiers" (ICCV
  /// 2015).
  static Initializer he_uniform() { return {Kind::he_uniform, 0.0}; }
  /// Uniform in [-l, l) with l = sqrt(1 / fan in), the default of PyTorch's layers. The numbers are smaller than with
  /// he_uniform(), and than with glorot_uniform() unless the fan out exceeds 5 times the fan in, so training at usual
  /// learning rates does not amplify differences in the last bits.
  static Initializer fan_in_uniform() { return {Kind::fan_in_uniform, 0.0}; }
  /// Uniform in [-limit, limit).
  static Initializer uniform(double limit) { return {Kind::uniform, limit}; }
  /// Normal with mean 0 and the given standard deviation, by the method of Box and Muller.
  static Initializer normal(double deviation) { return {Kind::normal, deviation}; }

  /// Sets the elements of a tensor, which must be float32 and in host memory. The fan out is the last size of the
  /// shape, the fan in the size before it; both are multiplied by all other sizes, which for the weights of a
  /// convolution are the height and width of the kernel. Random numbers come from the random stream (seed, stream); no
  /// two parameters of a model should have the same stream. Throws Error if the kind depends on a fan and the tensor
  /// has fewer than two axes.
  void fill(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream) const;

  bool operator==(const Initializer&) const = default;
};

}  // namespace troupe
