#include "troupe/ops/library/logsumexp.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_logsumexp(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32});
  const auto& shape = inputs.shape(0);
  if (shape.rank() == 0) inputs.refuse("a scalar has no last axis");
  if (shape.rank() == 1 && shape.has_batch()) inputs.refuse("the last axis must not be the batch");
  if (shape.back(0) == 0) inputs.refuse("there is nothing to sum along an axis of size 0");
  return {{Shape(shape.sizes().first(shape.rank() - 1)), DType::float32}};
}

// The gradient is dx = softmax(x) * dy, with dy repeated along the last axis of x.
std::vector<Value> grad_logsumexp(const OpGradient& g) {
  const auto x = g.inputs[0];
  auto sizes = x.shape().list();
  sizes.back() = 1;
  return {mul(softmax(x), broadcast_to(reshape(g.dys[0], Shape(sizes)), x))};
}

}  // namespace

const OpDef kLogsumexp{.name = "logsumexp", .infer = infer_logsumexp, .gradient = grad_logsumexp};

Value logsumexp(Value x) {
  return x.builder().apply_one(kLogsumexp, {x});
}

}  // namespace troupe
