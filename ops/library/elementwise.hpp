#pragma once

#include <span>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Arithmetic of floats, element by element. Two operands of one op have one dtype, and their shapes are stretched by
// numpy's rules: sizes are matched from the innermost axis on, and a size 1 is repeated. Other shapes are an Error.

Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);
Value div(Value a, Value b);

/// The operators stand for add, sub, mul and div. A number in place of an operand takes the dtype of the other one.
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

/// ((x0 + x1) + x2) + ... of one or more values of one shape and dtype: float32, int32, int64, float16 or bfloat16.
/// 16-bit sums are rounded after every addition. Sums of floats have a gradient.
Value add_n(std::span<const Value> values);

/// a where `condition` (uint8) is not 0, else b. a and b are float32. All three operands are stretched to one shape.
Value where(Value condition, Value a, Value b);

/// max(x, 0). The gradient at 0 is 0.
Value relu(Value x);

}  // namespace troupe
