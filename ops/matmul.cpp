#include "troupe/ops/matmul.hpp"

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/reduce.hpp"

namespace troupe {

namespace {

// Attributes: transpose_a, transpose_b, relu (the activation is part of the op). Inputs: a, b and optionally a bias.
std::vector<TensorInfo> infer_matmul(const OpInputs& inputs) {
  inputs.expect_count(2, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    inputs.expect_dtype(i, DType::float32);
    inputs.expect_rank(i, 2);
  }
  const bool ta = inputs.attributes.flag("transpose_a");
  const bool tb = inputs.attributes.flag("transpose_b");
  const auto m = inputs.shape(0)[ta ? 1 : 0];
  const auto k = inputs.shape(0)[ta ? 0 : 1];
  const auto n = inputs.shape(1)[tb ? 0 : 1];
  if (k != inputs.shape(1)[tb ? 1 : 0]) inputs.refuse("inner sizes differ");
  if (n == kBatch) inputs.refuse("the batch must be the first axis of the result");
  if (inputs.size() == 3) inputs.expect_info(2, {Shape{n}, DType::float32}, "the bias");
  return {{Shape{m, n}, DType::float32}};
}

Attributes attributes_of(bool transpose_a, bool transpose_b) {
  return {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}, {"relu", false}};
}

std::vector<Value> grad_matmul(const OpGradient& g) {
  const bool ta = g.attributes.flag("transpose_a");
  const bool tb = g.attributes.flag("transpose_b");
  auto dy = g.dys[0];
  if (g.attributes.flag("relu")) dy = g.builder.apply_one(kReluGrad, {dy, g.outputs[0]});
  const auto a = g.inputs[0];
  const auto b = g.inputs[1];
  const auto product = [](Value x, Value y, bool tx, bool ty) {
    return matmul(x, y, {.transpose_a = tx, .transpose_b = ty});
  };
  std::vector<Value> gradients = {ta ? product(b, dy, tb, true) : product(dy, b, false, !tb),
                                  tb ? product(dy, a, true, ta) : product(a, dy, !ta, false)};
  if (g.inputs.size() == 3) gradients.push_back(reduce_sum(dy, std::vector<std::int64_t>{0}));
  return gradients;
}

std::int64_t products_of_matmul(const OpCall& call) {
  return call.inputs[0].shape.elements() * call.outputs[0].shape[1];
}

}  // namespace

const OpDef kMatmul{
    .name = "matmul", .infer = infer_matmul, .gradient = grad_matmul, .multiply_adds = products_of_matmul};

Value matmul(Value a, Value b, MatmulOptions options) {
  return a.builder().apply_one(kMatmul, {a, b}, attributes_of(options.transpose_a, options.transpose_b));
}

Value linear(Value x, Value weights, Value bias) {
  return x.builder().apply_one(kMatmul, {x, weights, bias}, attributes_of(false, false));
}

}  // namespace troupe
