#include "troupe/ops/fused/finite.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// The shape rule of all_finite and largest_magnitude: any number of float32 tensors give a float32 scalar.
std::vector<TensorInfo> infer_scalar_of_floats(const OpInputs& inputs) {
  if (inputs.size() == 0) inputs.refuse("needs at least one value");
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs.expect_dtype(i, DType::float32);
  return {{Shape{}, DType::float32}};
}

std::vector<Value> grad_check_finite(const OpGradient& g) {
  return {control_dependency(g.dys[0], g.outputs[0])};
}

}  // namespace

const OpDef kAllFinite{.name = "all_finite", .infer = infer_scalar_of_floats, .accepts_empty = true};
const OpDef kLargestMagnitude{.name = "largest_magnitude", .infer = infer_scalar_of_floats, .accepts_empty = true};
const OpDef kAtLeast{.name = "at_least", .infer = infer_like_input};
const OpDef kAtMost{.name = "at_most", .infer = infer_like_input};
const OpDef kCheckFinite{.name = "check_finite", .infer = infer_like_input, .gradient = grad_check_finite};
const OpDef kControlDependency{.name = "control_dependency", .infer = infer_like<2, 0>};

Value all_finite(std::span<const Value> values) {
  if (values.empty()) throw Error("all_finite", "needs at least one value");
  return values[0].builder().apply(kAllFinite, values).at(0);
}
Value all_finite(Value x) {
  return all_finite(std::span(&x, 1));
}
Value largest_magnitude(std::span<const Value> values, double bound) {
  if (values.empty()) throw Error("largest_magnitude", "needs at least one value");
  return values[0].builder().apply(kLargestMagnitude, values, {{"bound", bound}}).at(0);
}
Value at_least(Value x, double threshold) {
  return x.builder().apply_one(kAtLeast, {x}, {{"threshold", threshold}});
}
Value at_most(Value x, double threshold) {
  return x.builder().apply_one(kAtMost, {x}, {{"threshold", threshold}});
}
Value check_finite(Value x) {
  return x.builder().apply_one(kCheckFinite, {x});
}
Value control_dependency(Value x, Value first) {
  return x.builder().apply_one(kControlDependency, {x, first});
}

}  // namespace troupe
