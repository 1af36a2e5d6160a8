#include "troupe/ops/library/transpose.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_transpose(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const auto& shape = inputs.shape(0);
  const auto& order = inputs.attributes.list("order");
  std::vector<bool> seen(shape.rank(), false);
  if (order.size() != shape.rank()) inputs.refuse("the order must name every axis");
  std::vector<std::int64_t> sizes;
  for (auto axis : order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.rank()) || seen[static_cast<std::size_t>(axis)])
      inputs.refuse("the order must name every axis once");
    seen[static_cast<std::size_t>(axis)] = true;
    sizes.push_back(shape[static_cast<std::size_t>(axis)]);
  }
  if (shape.has_batch() && order[0] != 0) inputs.refuse("the batch must stay the first axis");
  return {{Shape(sizes), inputs[0].dtype}};
}

std::vector<Value> grad_transpose(const OpGradient& g) {
  const auto& order = g.attributes.list("order");
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return {transpose(g.dys[0], inverse)};
}

}  // namespace

const OpDef kTranspose{.name = "transpose",
                       .infer = infer_transpose,
                       .gradient = grad_transpose,
                       .half = HalfKernels::all,
                       .role = HalfRole::follows};

Value transpose(Value x, const std::vector<std::int64_t>& order) {
  return x.builder().apply_one(kTranspose, {x}, {{"order", order}});
}

}  // namespace troupe
