#include "troupe/ops/library/row_product.hpp"

#include <numeric>

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

TensorInfo infer_row_product(const OpInputs& inputs, std::size_t count) {
  const auto product = kMatmul.infer({inputs.op, inputs.infos.first(count), inputs.attributes}).at(0);
  if (inputs.shape(1).rank() != 2 || inputs.attributes.flag("transpose_a")) inputs.refuse("needs rows times a matrix");
  return product;
}

std::vector<std::int64_t> axes_of_rows(const Shape& shape) {
  std::vector<std::int64_t> axes(shape.rank() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::int64_t multiply_adds_of_row_product(const OpCall& call) {
  return call.inputs[0].shape.elements() * call.outputs[0].shape.back(0);
}

}  // namespace troupe
