#include "troupe/ops/library/matmul.hpp"

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/reduce.hpp"

namespace troupe {

namespace {

bool has_leading_axes(const Shape& shape) {
  return shape.rank() > 2;
}

Shape leading_axes(const Shape& shape) {
  return Shape(shape.sizes().first(shape.rank() - 2));
}

void expect_leading_axes(const OpInputs& inputs) {
  const auto& a = inputs.shape(0);
  const auto& b = inputs.shape(1);
  if (a.rank() < 2 || b.rank() < 2) inputs.refuse("a matrix has at least 2 axes");
  if (has_leading_axes(b) && (a.rank() != b.rank() || !(leading_axes(a) == leading_axes(b))))
    inputs.refuse("the leading axes differ");
  if (has_leading_axes(a) && !has_leading_axes(b) && inputs.attributes.flag("transpose_a"))
    inputs.refuse("a with leading axes cannot be transposed if b has none");
}

// The shape rule of matmul. Inputs: a, b and optionally a bias of the dtype of the result. Attributes: transpose_a,
// transpose_b, relu (true if a relu is applied last), and optionally kFloat32Result, with which the result of 16-bit
// floats is float32.
std::vector<TensorInfo> infer_matmul(const OpInputs& inputs) {
  inputs.expect_count(2, 3);
  inputs.expect_float(0);
  inputs.expect_dtype(1, inputs[0].dtype);
  const auto dtype = inputs.attributes.has(kFloat32Result) ? DType::float32 : inputs[0].dtype;
  expect_leading_axes(inputs);
  const bool ta = inputs.attributes.flag("transpose_a");
  const bool tb = inputs.attributes.flag("transpose_b");
  const auto m = inputs.shape(0).back(ta ? 0 : 1);
  const auto k = inputs.shape(0).back(ta ? 1 : 0);
  const auto n = inputs.shape(1).back(tb ? 1 : 0);
  if (k != inputs.shape(1).back(tb ? 0 : 1)) inputs.refuse("inner sizes differ");
  if (n == kBatch) inputs.refuse("the batch must be the first axis of the result");
  if (inputs.size() == 3) inputs.expect_info(2, {Shape{n}, dtype}, "the bias");
  if (inputs.size() == 3 && k == 0) inputs.refuse("a product with a bias needs an inner size of at least 1");
  auto sizes = inputs.shape(0).list();
  sizes[sizes.size() - 2] = m;
  sizes.back() = n;
  return {{Shape(sizes), dtype}};
}

Attributes attributes_of(MatmulOptions options) {
  return {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}, {"relu", false}};
}

/// The gradient of b in a product x * b, in which the one matrix b, or its transpose, multiplies all rows of x.
/// `transposed` is the attribute transpose_b of that product.
Value grad_weights(Value x, Value dy, bool transposed) {
  if (!has_leading_axes(x.shape()))
    return transposed ? matmul(dy, x, {.transpose_a = true}) : matmul(x, dy, {.transpose_a = true});
  return transposed ? outer_sum(dy, x) : outer_sum(x, dy);
}

std::vector<Value> grad_matmul(const OpGradient& g) {
  const bool ta = g.attributes.flag("transpose_a");
  const bool tb = g.attributes.flag("transpose_b");
  auto dy = g.dys[0];
  if (g.attributes.flag("relu")) dy = g.builder.apply_one(kReluGrad, {dy, g.outputs[0]});
  dy = cast_to(dy, g.inputs[0].dtype());
  const auto a = g.inputs[0];
  const auto b = g.inputs[1];
  const auto product = [](Value x, Value y, bool tx, bool ty) {
    return matmul(x, y, {.transpose_a = tx, .transpose_b = ty});
  };
  std::vector<Value> gradients = {ta ? product(b, dy, tb, true) : product(dy, b, false, !tb)};
  if (!ta && !has_leading_axes(b.shape()))
    gradients.push_back(grad_weights(a, dy, tb));
  else
    gradients.push_back(tb ? product(dy, a, true, ta) : product(a, dy, !ta, false));
  if (g.inputs.size() == 3) gradients.push_back(reduce_sum(dy, axes_of_rows(dy.shape())));
  return gradients;
}

std::int64_t multiply_adds_of_matmul(const OpCall& call) {
  return call.inputs[0].shape.elements() * call.outputs[0].shape.back(0);
}

// The shape rule of outer_sum. The result is a sum over all axes but the last, and is float32 also for 16-bit inputs.
std::vector<TensorInfo> infer_outer_sum(const OpInputs& inputs) {
  inputs.expect_floats(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (inputs.shape(i).rank() < 2 || inputs.shape(i).rank() != inputs.shape(0).rank())
      inputs.refuse("needs two values with the same leading axes");
  }
  for (std::size_t axis = 0; axis + 1 < inputs.shape(0).rank(); ++axis)
    if (inputs.shape(0)[axis] != inputs.shape(1)[axis]) inputs.refuse("the leading axes differ");
  return {{Shape{inputs.shape(0).back(0), inputs.shape(1).back(0)}, DType::float32}};
}

std::vector<Value> grad_outer_sum(const OpGradient& g) {
  const auto dy = cast_to(g.dys[0], g.inputs[0].dtype());
  return {matmul(g.inputs[1], dy, {.transpose_b = true}), matmul(g.inputs[0], dy)};
}

std::int64_t multiply_adds_of_outer_sum(const OpCall& call) {
  return call.inputs[0].shape.elements() * call.inputs[1].shape.back(0);
}

std::vector<TensorInfo> infer_orthonormalize(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  inputs.expect_rank(0, 2);
  if (inputs.shape(0).has_batch()) inputs.refuse("needs a matrix that does not derive from the batch");
  return {inputs[0]};
}

}  // namespace

const OpDef kMatmul{.name = "matmul",
                    .infer = infer_matmul,
                    .gradient = grad_matmul,
                    .multiply_adds = multiply_adds_of_matmul,
                    .half = HalfKernels::all,
                    .role = HalfRole::product};
const OpDef kOuterSum{.name = "outer_sum",
                      .infer = infer_outer_sum,
                      .gradient = grad_outer_sum,
                      .multiply_adds = multiply_adds_of_outer_sum,
                      .half = HalfKernels::all,
                      .role = HalfRole::product};
const OpDef kOrthonormalize{.name = "orthonormalize", .infer = infer_orthonormalize};

Value matmul(Value a, Value b, MatmulOptions options) {
  return a.builder().apply_one(kMatmul, {a, b}, attributes_of(options));
}

Value outer_sum(Value a, Value b) {
  return a.builder().apply_one(kOuterSum, {a, b});
}

Value orthonormalize(Value x) {
  return x.builder().apply_one(kOrthonormalize, {x});
}

Value linear(Value x, Value weights, Value bias) {
  return x.builder().apply_one(kMatmul, {x, weights, bias}, attributes_of(MatmulOptions{}));
}

}  // namespace troupe
