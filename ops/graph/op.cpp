#include "troupe/ops/graph/op.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

void OpInputs::refuse(std::string_view message) const {
  std::string text(message);
  for (std::size_t i = 0; i < infos.size(); ++i) text += (i == 0 ? ": " : ", ") + to_string(infos[i]);
  throw Error(op, text);
}

void OpInputs::expect_count(std::size_t min, std::size_t max) const {
  if (infos.size() >= min && infos.size() <= max) return;
  refuse("needs " + std::to_string(min) + (max == min ? "" : " to " + std::to_string(max)) + " inputs");
}

void OpInputs::expect_dtypes(std::initializer_list<DType> dtypes) const {
  expect_count(dtypes.size(), dtypes.size());
  for (std::size_t i = 0; i < infos.size(); ++i) expect_dtype(i, dtypes.begin()[i]);
}

void OpInputs::expect_dtype(std::size_t i, DType dtype) const {
  if (infos[i].dtype != dtype) refuse("input " + std::to_string(i) + " must be " + std::string(name_of(dtype)));
}

void OpInputs::expect_float(std::size_t i) const {
  if (!is_float(infos[i].dtype)) refuse("input " + std::to_string(i) + " must be float32, float16 or bfloat16");
}

void OpInputs::expect_floats(std::size_t count) const {
  expect_count(count, count);
  expect_float(0);
  for (std::size_t i = 1; i < count; ++i) expect_dtype(i, infos[0].dtype);
}

void OpInputs::expect_info(std::size_t i, const TensorInfo& info, std::string_view name) const {
  if (!(infos[i] == info)) refuse(std::string(name) + " must be " + to_string(info));
}

void OpInputs::expect_batch_info(std::size_t i) const {
  expect_info(i, {Shape{4}, DType::int64}, "the batch info");
}

void OpInputs::expect_rank(std::size_t i, std::size_t rank) const {
  if (infos[i].shape.rank() != rank)
    refuse("input " + std::to_string(i) + " must have " + std::to_string(rank) + " axes");
}

std::vector<TensorInfo> infer_like_input(const OpInputs& inputs) {
  inputs.expect_floats(1);
  return {inputs[0]};
}

std::vector<TensorInfo> infer_like_both_inputs(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_float(0);
  if (!(inputs[0] == inputs[1])) inputs.refuse("both inputs must have the same shape and dtype");
  return {inputs[0]};
}

std::size_t axis_of(const OpInputs& inputs) {
  const auto rank = static_cast<std::int64_t>(inputs.shape(0).rank());
  const auto axis = inputs.attributes.integer("axis");
  if (axis < 0 || axis >= rank) inputs.refuse("there is no axis " + std::to_string(axis));
  if (axis == 0 && inputs.shape(0).has_batch()) inputs.refuse("the axis must not be the batch");
  return static_cast<std::size_t>(axis);
}

}  // namespace troupe
