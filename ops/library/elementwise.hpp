#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// a + b, a - b, a * b, a / b with numpy's broadcasting: sizes are matched from the innermost axis on, and a size 1
/// stretches. Both float32. Throws Error for other shapes.
Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);
Value div(Value a, Value b);

/// The same as add, sub, mul and div, and with a number instead of one side.
inline Value operator+(Value a, Value b) {
  return add(a, b);
}
inline Value operator-(Value a, Value b) {
  return sub(a, b);
}
inline Value operator*(Value a, Value b) {
  return mul(a, b);
}
inline Value operator/(Value a, Value b) {
  return div(a, b);
}
Value operator+(Value a, double b);
Value operator+(double a, Value b);
Value operator-(Value a, double b);
Value operator-(double a, Value b);
Value operator*(Value a, double b);
Value operator*(double a, Value b);
Value operator/(Value a, double b);
Value operator/(double a, Value b);
Value operator-(Value x);

/// x * factor.
Value scale(Value x, double factor);

/// max(x, 0). The gradient at 0 is 0.
Value relu(Value x);

}  // namespace troupe
