#include "troupe/ops/library/add_n.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_add_n(const OpInputs& inputs) {
  if (inputs.size() == 0) inputs.refuse("needs at least one value");
  if (inputs[0].dtype == DType::uint8) inputs.refuse("there is no sum of uint8");
  for (std::size_t i = 1; i < inputs.size(); ++i) inputs.expect_info(i, inputs[0], "input " + std::to_string(i));
  return {inputs[0]};
}

std::vector<Value> grad_add_n(const OpGradient& g) {
  const bool passes = is_float(g.outputs[0].dtype());
  return std::vector<Value>(g.inputs.size(), passes ? g.dys[0] : Value());
}

}  // namespace

const OpDef kAddN{.name = "add_n", .infer = infer_add_n, .gradient = grad_add_n, .half = HalfKernels::all};

Value add_n(std::span<const Value> values) {
  if (values.empty()) throw Error("add_n", "needs at least one value");
  return values[0].builder().apply(kAddN, values).at(0);
}

}  // namespace troupe
