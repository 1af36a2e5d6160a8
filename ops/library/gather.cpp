#include "troupe/ops/library/gather.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

void expect_indices(const OpInputs& inputs, std::size_t i) {
  if (inputs[i].dtype != DType::int32 && inputs[i].dtype != DType::int64)
    inputs.refuse("the indices must be int32 or int64");
}

std::vector<TensorInfo> infer_gather(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  expect_indices(inputs, 1);
  const auto& table = inputs.shape(0);
  if (table.rank() == 0 || table.has_batch() || table[0] == 0)
    inputs.refuse("needs a table [N, ...] that does not derive from the batch");
  auto sizes = inputs.shape(1).list();
  for (std::size_t axis = 1; axis < table.rank(); ++axis) sizes.push_back(table[axis]);
  return {{Shape(sizes), DType::float32}};
}

std::vector<Value> grad_gather(const OpGradient& g) {
  return {scatter_add(g.dys[0], g.inputs[1], g.inputs[0].shape()[0]), Value()};
}

std::vector<TensorInfo> infer_scatter_add(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  expect_indices(inputs, 1);
  const auto rows = inputs.attributes.integer("rows");
  if (rows < 0) inputs.refuse("the number of rows must not be negative");
  const auto& values = inputs.shape(0);
  const auto& indices = inputs.shape(1);
  const auto prefix = values.sizes().first(std::min(values.rank(), indices.rank()));
  if (!(Shape(prefix) == indices)) inputs.refuse("needs one index per row of values");
  std::vector<std::int64_t> sizes{rows};
  for (std::size_t axis = indices.rank(); axis < values.rank(); ++axis) sizes.push_back(values[axis]);
  return {{Shape(sizes), DType::float32}};
}

std::vector<Value> grad_scatter_add(const OpGradient& g) {
  return {gather(g.dys[0], g.inputs[1]), Value()};
}

/// The gradient rule of an op whose inputs are integers: no input gets a gradient.
std::vector<Value> grad_nothing(const OpGradient& g) {
  return std::vector<Value>(g.inputs.size());
}

std::vector<TensorInfo> infer_one_hot(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  expect_indices(inputs, 0);
  if (inputs.attributes.integer("classes") < 1) inputs.refuse("needs at least one class");
  auto sizes = inputs.shape(0).list();
  sizes.push_back(inputs.attributes.integer("classes"));
  return {{Shape(sizes), DType::float32}};
}

}  // namespace

const OpDef kGather{.name = "gather", .infer = infer_gather, .gradient = grad_gather};
const OpDef kScatterAdd{.name = "scatter_add", .infer = infer_scatter_add, .gradient = grad_scatter_add};
const OpDef kOneHot{.name = "one_hot", .infer = infer_one_hot, .gradient = grad_nothing};

Value gather(Value table, Value indices) {
  return table.builder().apply_one(kGather, {table, indices});
}
Value scatter_add(Value values, Value indices, std::int64_t rows) {
  return values.builder().apply_one(kScatterAdd, {values, indices}, {{"rows", rows}});
}
Value one_hot(Value indices, std::int64_t classes) {
  return indices.builder().apply_one(kOneHot, {indices}, {{"classes", classes}});
}

}  // namespace troupe
