#include "troupe/ops/library/compare.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/broadcast.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_comparison(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  if (inputs[0].dtype != inputs[1].dtype || is_16_bit(inputs[0].dtype))
    inputs.refuse("needs two values of one dtype, float32, int32, int64 or uint8");
  return {{broadcast_shape(inputs), DType::uint8}};
}

}  // namespace

const OpDef kEqual{.name = "equal", .infer = infer_comparison};
const OpDef kNotEqual{.name = "not_equal", .infer = infer_comparison};
const OpDef kLess{.name = "less", .infer = infer_comparison};
const OpDef kLessEqual{.name = "less_equal", .infer = infer_comparison};

Value equal(Value a, Value b) {
  return a.builder().apply_one(kEqual, {a, b});
}
Value not_equal(Value a, Value b) {
  return a.builder().apply_one(kNotEqual, {a, b});
}
Value less(Value a, Value b) {
  return a.builder().apply_one(kLess, {a, b});
}
Value less_equal(Value a, Value b) {
  return a.builder().apply_one(kLessEqual, {a, b});
}
Value greater(Value a, Value b) {
  return less(b, a);
}
Value greater_equal(Value a, Value b) {
  return less_equal(b, a);
}

}  // namespace troupe
