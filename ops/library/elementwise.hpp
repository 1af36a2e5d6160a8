#pragma once

#include <initializer_list>
#include <span>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

// Element-wise ops. The two operands of add, sub, mul and div must have the same float dtype. Their shapes are
// stretched by numpy's rules: sizes are matched from the innermost axis on, and a size 1 is repeated. Shapes that do
// not match are an Error.

Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);
Value div(Value a, Value b);

/// The operators on two values are add, sub, mul and div. A number in place of an operand takes the dtype of the other
/// operand. A product with a number, a quotient by a number and the negation are scale().
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

/// ((x0 + x1) + x2) + ... of one or more values, which must have the same shape and dtype: float32, int32, int64,
/// float16 or bfloat16. 16-bit sums are rounded after every addition. Sums of floats have a gradient.
Value add_n(std::span<const Value> values);
inline Value add_n(std::initializer_list<Value> values) {
  return add_n(std::span(values.begin(), values.size()));
}

/// Returns a where `condition` is not 0, else b. `condition` must be uint8, a and b must be float32. All three are
/// stretched to one shape by numpy's rules.
Value where(Value condition, Value a, Value b);

/// max(x, 0). The gradient at 0 is 0.
Value relu(Value x);

}  // namespace troupe
