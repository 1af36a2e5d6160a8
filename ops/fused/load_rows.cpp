#include "troupe/ops/fused/load_rows.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_load_rows(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  const auto& data = inputs[0];
  if (data.shape.rank() == 0 || data.shape.has_batch() || data.shape[0] == 0)
    inputs.refuse("needs data [N, ...] that does not derive from the batch");
  inputs.expect_dtype(1, DType::int32);
  inputs.expect_rank(1, 1);
  const bool scaled = inputs.attributes.has("scale");
  if (scaled && data.dtype != DType::uint8 && data.dtype != DType::float32)
    inputs.refuse("only uint8 and float32 can be scaled");
  auto sizes = data.shape.list();
  sizes[0] = inputs.shape(1)[0];
  return {{Shape(sizes), scaled ? DType::float32 : data.dtype}};
}

}  // namespace

const OpDef kLoadRows{.name = "load_rows", .infer = infer_load_rows, .half = HalfKernels::all};

Value load_rows(Value data, Value numbers) {
  return data.builder().apply_one(kLoadRows, {data, numbers});
}
Value load_rows(Value data, Value numbers, float scale, float shift) {
  return data.builder().apply_one(kLoadRows, {data, numbers}, {{"scale", double{scale}}, {"shift", double{shift}}});
}

}  // namespace troupe
