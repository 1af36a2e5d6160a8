#include "troupe/strategies/step/flat_gradients.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"

namespace troupe {

Value flattened(std::span<const Value> values) {
  if (values.empty()) throw Error("gradient_hook", "has no values to join");
  std::vector<Value> parts;
  for (const auto& value : values) parts.push_back(reshape(value, Shape{value.shape().elements()}));
  return parts.size() == 1 ? parts.front() : concat(parts, 0);
}

std::vector<Value> unflattened(Value flat, std::span<const Shape> shapes) {
  std::vector<Value> values;
  std::int64_t offset = 0;
  for (const auto& shape : shapes) {
    values.push_back(view_at(flat, offset, shape));
    offset += shape.elements();
  }
  return values;
}

}  // namespace troupe
