#include "troupe/ops/library/compare.hpp"

#include "troupe/ops/library/broadcast.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

bool is_number(DType dtype) {
  return dtype == DType::float32 || dtype == DType::int32 || dtype == DType::int64 || dtype == DType::uint8;
}

std::vector<TensorInfo> infer_comparison(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  if (inputs[0].dtype != inputs[1].dtype || !is_number(inputs[0].dtype))
    inputs.refuse("needs two values of one dtype, float32, int32, int64 or uint8");
  return {{broadcast_shape(inputs), DType::uint8}};
}

std::vector<TensorInfo> infer_where(const OpInputs& inputs) {
  inputs.expect_count(3, 3);
  inputs.expect_dtype(0, DType::uint8);
  inputs.expect_dtype(1, DType::float32);
  inputs.expect_dtype(2, DType::float32);
  return {{broadcast_shape(inputs), DType::float32}};
}

std::vector<Value> grad_where(const OpGradient& g) {
  const auto dy = g.dys[0];
  const auto zero = g.builder.constant(Tensor::scalar(0.0F));
  return {Value(), reduce_to(where(g.inputs[0], dy, zero), g.inputs[1]),
          reduce_to(where(g.inputs[0], zero, dy), g.inputs[2])};
}

std::vector<TensorInfo> infer_cast(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const auto number = inputs.attributes.integer("dtype");
  const bool known = number >= 0 && number <= static_cast<std::int64_t>(DType::bfloat16);
  if (!known) inputs.refuse("there is no dtype " + std::to_string(number));
  return {{inputs.shape(0), static_cast<DType>(number)}};
}

std::vector<Value> grad_cast(const OpGradient& g) {
  const bool passes = is_float(g.inputs[0].dtype()) && is_float(g.outputs[0].dtype());
  return {passes ? cast_to(g.dys[0], g.inputs[0].dtype()) : Value()};
}

}  // namespace

const OpDef kEqual{.name = "equal", .infer = infer_comparison};
const OpDef kNotEqual{.name = "not_equal", .infer = infer_comparison};
const OpDef kLess{.name = "less", .infer = infer_comparison};
const OpDef kLessEqual{.name = "less_equal", .infer = infer_comparison};
const OpDef kWhere{.name = "where", .infer = infer_where, .gradient = grad_where};
const OpDef kCast{.name = "cast", .infer = infer_cast, .gradient = grad_cast, .half = HalfKernels::all};

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
Value where(Value condition, Value a, Value b) {
  return a.builder().apply_one(kWhere, {condition, a, b});
}
Value cast(Value x, DType dtype) {
  return x.builder().apply_one(kCast, {x}, {{"dtype", static_cast<std::int64_t>(dtype)}});
}
Value cast_to(Value x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

}  // namespace troupe
