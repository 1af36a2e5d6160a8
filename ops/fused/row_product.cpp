#include "troupe/ops/fused/row_product.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

TensorInfo infer_row_product(const OpInputs& inputs, std::size_t count) {
  const auto product = kMatmul.infer({inputs.op, inputs.infos.first(count), inputs.attributes}).at(0);
  if (inputs.shape(1).rank() != 2 || inputs.attributes.flag("transpose_a"))
    inputs.refuse("needs rows that are not transposed, times a matrix");
  return product;
}

std::int64_t multiply_adds_of_row_product(const OpCall& call) {
  return kMatmul.multiply_adds(call);
}

}  // namespace troupe
