#include "troupe/ops/elementwise.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/reduce.hpp"
#include "troupe/ops/reshape.hpp"

namespace troupe {

namespace {

std::int64_t broadcast_size(const OpInputs& inputs, std::int64_t a, std::int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  inputs.refuse("shapes do not broadcast");
}

std::vector<TensorInfo> infer_binary(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_dtype(1, DType::float32);
  const auto& a = inputs.shape(0);
  const auto& b = inputs.shape(1);
  std::vector<std::int64_t> sizes(std::max(a.rank(), b.rank()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size_a = i < a.rank() ? a.back(i) : 1;
    const auto size_b = i < b.rank() ? b.back(i) : 1;
    const auto size = broadcast_size(inputs, size_a, size_b);
    if (size == kBatch && i + 1 != sizes.size()) inputs.refuse("only the first axis can be the batch");
    sizes[sizes.size() - 1 - i] = size;
  }
  return {{Shape(sizes), DType::float32}};
}

std::vector<TensorInfo> infer_like_both(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  if (!(inputs[0] == inputs[1])) inputs.refuse("both inputs must have the same shape and dtype");
  return {inputs[0]};
}

/// Sums dy over the axes along which the operand `x` was broadcast.
Value reduce_to(Value dy, Value x) {
  const Shape target = x.shape();
  if (dy.shape() == target) return dy;
  std::vector<std::int64_t> axes;
  const Shape from = dy.shape();
  const auto missing = from.rank() - target.rank();
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    if (axis < missing || (target[axis - missing] == 1 && from[axis] != 1))
      axes.push_back(static_cast<std::int64_t>(axis));
  }
  auto sum = axes.empty() ? dy : reduce_sum(dy, axes);
  return sum.shape() == target ? sum : reshape(sum, target);
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
std::vector<Value> grad_scale(const OpGradient& g) {
  return {scale(g.dys[0], g.attributes.number("factor"))};
}
std::vector<Value> grad_relu(const OpGradient& g) {
  return {g.builder.apply_one(kReluGrad, {g.dys[0], g.outputs[0]})};
}

}  // namespace

const OpDef kAdd{.name = "add", .infer = infer_binary, .gradient = grad_add};
const OpDef kSub{.name = "sub", .infer = infer_binary, .gradient = grad_sub};
const OpDef kMul{.name = "mul", .infer = infer_binary, .gradient = grad_mul};
const OpDef kScale{.name = "scale", .infer = infer_like_input, .gradient = grad_scale};
const OpDef kRelu{.name = "relu", .infer = infer_like_input, .gradient = grad_relu};
const OpDef kReluGrad{.name = "relu_grad", .infer = infer_like_both};

Value add(Value a, Value b) {
  return a.builder().apply_one(kAdd, {a, b});
}
Value sub(Value a, Value b) {
  return a.builder().apply_one(kSub, {a, b});
}
Value mul(Value a, Value b) {
  return a.builder().apply_one(kMul, {a, b});
}
Value scale(Value x, double factor) {
  return x.builder().apply_one(kScale, {x}, {{"factor", factor}});
}

namespace {

Value number(GraphBuilder& builder, double value) {
  return builder.constant(Tensor::scalar(static_cast<float>(value)));
}

}  // namespace

Value operator+(Value a, double b) {
  return add(a, number(a.builder(), b));
}
Value operator+(double a, Value b) {
  return b + a;
}
Value operator-(Value a, double b) {
  return sub(a, number(a.builder(), b));
}
Value operator-(double a, Value b) {
  return sub(number(b.builder(), a), b);
}
Value operator*(Value a, double b) {
  return scale(a, b);
}
Value operator*(double a, Value b) {
  return scale(b, a);
}
Value operator-(Value x) {
  return scale(x, -1.0);
}

Value relu(Value x) {
  return x.builder().apply_one(kRelu, {x});
}

}  // namespace troupe
