#include "troupe/ops/library/cast.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_cast(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  const auto number = inputs.attributes.integer("dtype");
  const bool is_dtype = number >= 0 && number <= static_cast<std::int64_t>(DType::bfloat16);
  if (!is_dtype) inputs.refuse("there is no dtype " + std::to_string(number));
  return {{inputs.shape(0), static_cast<DType>(number)}};
}

std::vector<Value> grad_cast(const OpGradient& g) {
  const bool differentiable = is_float(g.inputs[0].dtype()) && is_float(g.outputs[0].dtype());
  return {differentiable ? cast_to(g.dys[0], g.inputs[0].dtype()) : Value()};
}

}  // namespace

const OpDef kCast{.name = "cast", .infer = infer_cast, .gradient = grad_cast, .half = HalfKernels::all};

Value cast(Value x, DType dtype) {
  return x.builder().apply_one(kCast, {x}, {{"dtype", static_cast<std::int64_t>(dtype)}});
}
Value cast_to(Value x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

}  // namespace troupe
