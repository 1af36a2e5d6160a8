#include "troupe/ops/library/orthonormalize.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_orthonormalize(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 2);
  if (inputs.shape(0).has_batch()) inputs.refuse("needs a matrix that does not derive from the batch");
  return {inputs[0]};
}

}  // namespace

const OpDef kOrthonormalize{.name = "orthonormalize", .infer = infer_orthonormalize};

Value orthonormalize(Value x) {
  return x.builder().apply_one(kOrthonormalize, {x});
}

}  // namespace troupe
