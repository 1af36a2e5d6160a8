#include "troupe/ops/library/elementwise.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/broadcast.hpp"
#include "troupe/ops/library/cast.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_binary(const OpInputs& inputs) {
  inputs.expect_floats(2);
  return {{broadcast_shape(inputs), inputs[0].dtype}};
}

std::vector<TensorInfo> infer_add_n(const OpInputs& inputs) {
  if (inputs.size() == 0) inputs.refuse("needs at least one value");
  if (inputs[0].dtype == DType::uint8) inputs.refuse("there is no sum of uint8");
  for (std::size_t i = 1; i < inputs.size(); ++i) inputs.expect_info(i, inputs[0], "input " + std::to_string(i));
  return {inputs[0]};
}

std::vector<TensorInfo> infer_where(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::uint8, DType::float32, DType::float32});
  return {{broadcast_shape(inputs), DType::float32}};
}

std::vector<Value> grad_add(const OpGradient& g) {
  return {reduce_to(g.dys[0], g.inputs[0]), reduce_to(g.dys[0], g.inputs[1])};
}
std::vector<Value> grad_sub(const OpGradient& g) {
  return {reduce_to(g.dys[0], g.inputs[0]), reduce_to(scale(g.dys[0], -1.0), g.inputs[1])};
}
std::vector<Value> grad_mul(const OpGradient& g) {
  return {reduce_to(mul(g.dys[0], g.inputs[1]), g.inputs[0]), reduce_to(mul(g.dys[0], g.inputs[0]), g.inputs[1])};
}
std::vector<Value> grad_div(const OpGradient& g) {
  const auto by_a = div(g.dys[0], g.inputs[1]);
  return {reduce_to(by_a, g.inputs[0]), reduce_to(scale(mul(by_a, g.outputs[0]), -1.0), g.inputs[1])};
}
std::vector<Value> grad_scale(const OpGradient& g) {
  return {scale(g.dys[0], g.attributes.number("factor"))};
}
std::vector<Value> grad_add_n(const OpGradient& g) {
  const bool differentiable = is_float(g.outputs[0].dtype());
  return std::vector<Value>(g.inputs.size(), differentiable ? g.dys[0] : Value());
}
std::vector<Value> grad_where(const OpGradient& g) {
  const auto dy = g.dys[0];
  const auto zero = g.builder.constant(Tensor::scalar(0.0F));
  return {Value(), reduce_to(where(g.inputs[0], dy, zero), g.inputs[1]),
          reduce_to(where(g.inputs[0], zero, dy), g.inputs[2])};
}

/// A scalar constant `number`, cast to the dtype of x.
Value number_like(Value x, double number) {
  return cast_to(x.builder().constant(Tensor::scalar(static_cast<float>(number))), x.dtype());
}

}  // namespace

const OpDef kAdd{
    .name = "add", .infer = infer_binary, .gradient = grad_add, .half = HalfKernels::all, .role = HalfRole::follows};
const OpDef kSub{.name = "sub", .infer = infer_binary, .gradient = grad_sub, .role = HalfRole::follows};
const OpDef kMul{.name = "mul", .infer = infer_binary, .gradient = grad_mul, .role = HalfRole::follows};
const OpDef kDiv{.name = "div", .infer = infer_binary, .gradient = grad_div, .role = HalfRole::follows};
const OpDef kScale{.name = "scale", .infer = infer_like_input, .gradient = grad_scale, .role = HalfRole::follows};
const OpDef kAddN{.name = "add_n", .infer = infer_add_n, .gradient = grad_add_n, .half = HalfKernels::all};
const OpDef kWhere{.name = "where", .infer = infer_where, .gradient = grad_where};
const OpDef kRelu{
    .name = "relu", .infer = infer_like_input, .gradient = grad_from_output<kReluGrad>, .role = HalfRole::follows};
const OpDef kReluGrad{.name = "relu_grad", .infer = infer_like_both_inputs, .role = HalfRole::activation_gradient};

Value add(Value a, Value b) {
  return a.builder().apply_one(kAdd, {a, b});
}
Value sub(Value a, Value b) {
  return a.builder().apply_one(kSub, {a, b});
}
Value mul(Value a, Value b) {
  return a.builder().apply_one(kMul, {a, b});
}
Value div(Value a, Value b) {
  return a.builder().apply_one(kDiv, {a, b});
}
Value scale(Value x, double factor) {
  return x.builder().apply_one(kScale, {x}, {{"factor", factor}});
}
Value add_n(std::span<const Value> values) {
  if (values.empty()) throw Error("add_n", "needs at least one value");
  return values[0].builder().apply(kAddN, values).at(0);
}
Value where(Value condition, Value a, Value b) {
  return a.builder().apply_one(kWhere, {condition, a, b});
}
Value relu(Value x) {
  return x.builder().apply_one(kRelu, {x});
}

Value operator+(Value a, double b) {
  return add(a, number_like(a, b));
}
Value operator+(double a, Value b) {
  return b + a;
}
Value operator-(Value a, double b) {
  return sub(a, number_like(a, b));
}
Value operator-(double a, Value b) {
  return sub(number_like(b, a), b);
}
Value operator*(Value a, double b) {
  return scale(a, b);
}
Value operator*(double a, Value b) {
  return scale(b, a);
}
Value operator/(Value a, double b) {
  return scale(a, 1.0 / b);
}
Value operator/(double a, Value b) {
  return div(number_like(b, a), b);
}
Value operator-(Value x) {
  return scale(x, -1.0);
}

}  // namespace troupe
