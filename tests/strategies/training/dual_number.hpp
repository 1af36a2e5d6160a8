#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace troupe::testing {

/// The most variables of which a Dual has derivatives.
inline constexpr std::size_t kVariables = 64;

/// A number with its derivatives by some variables: every function below applies the chain rule to them.
struct Dual {
  double value = 0.0;
  std::array<double, kVariables> by{};

  Dual() = default;
  Dual(double constant) : value(constant) {}  // NOLINT: a number is a constant
  static Dual variable(double value, std::size_t number) {
    Dual dual(value);
    dual.by[number] = 1.0;
    return dual;
  }

  /// The function of this number that has the value `f` and the derivative `slope`.
  Dual mapped(double f, double slope) const {
    Dual result(f);
    for (std::size_t i = 0; i < kVariables; ++i) result.by[i] = slope * by[i];
    return result;
  }

  Dual& operator+=(const Dual& other) {
    value += other.value;
    for (std::size_t i = 0; i < kVariables; ++i) by[i] += other.by[i];
    return *this;
  }
};

inline Dual operator+(Dual a, const Dual& b) {
  return a += b;
}
inline Dual operator*(const Dual& a, const Dual& b) {
  return a.mapped(a.value * b.value, b.value) + b.mapped(0.0, a.value);
}
inline Dual operator-(const Dual& a, const Dual& b) {
  return a + b.mapped(-b.value, -1.0);
}
inline Dual operator/(const Dual& a, const Dual& b) {
  return a * b.mapped(1.0 / b.value, -1.0 / (b.value * b.value));
}
inline Dual exp(const Dual& x) {
  return x.mapped(std::exp(x.value), std::exp(x.value));
}
inline Dual log(const Dual& x) {
  return x.mapped(std::log(x.value), 1.0 / x.value);
}
inline Dual sqrt(const Dual& x) {
  return x.mapped(std::sqrt(x.value), 0.5 / std::sqrt(x.value));
}
inline Dual tanh(const Dual& x) {
  const double y = std::tanh(x.value);
  return x.mapped(y, 1.0 - y * y);
}
inline Dual abs(const Dual& x) {
  return x.mapped(std::abs(x.value), x.value < 0.0 ? -1.0 : 1.0);
}
inline Dual erf(const Dual& x) {
  return x.mapped(std::erf(x.value), 2.0 / std::sqrt(std::acos(-1.0)) * std::exp(-x.value * x.value));
}

}  // namespace troupe::testing
