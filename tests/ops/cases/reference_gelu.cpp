#include <cmath>
#include <numbers>

#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

const double kFactor = std::sqrt(2.0 / std::numbers::pi);
constexpr double kCubic = 0.044715;

double tanh_part(double x) {
  return std::tanh(kFactor * (x + kCubic * x * x * x));
}

}  // namespace

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + tanh_part(x));
}

double gelu_tanh_slope(double x) {
  const double t = tanh_part(x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * kFactor * (1.0 + 3.0 * kCubic * x * x);
}

}  // namespace troupe::ops_test::reference
