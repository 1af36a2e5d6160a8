#include "troupe/ops/passes/row_products.hpp"

#include <algorithm>

namespace troupe {

bool RowProducts::is_product(int i) const {
  return node(i).is(kMatmul) && !node(i).attributes.flag("transpose_a") && !node(i).attributes.flag("relu") &&
         graph_.info(node(i).inputs[1]).shape.rank() == 2;
}

bool RowProducts::can_move_to(int product, int i) const {
  const auto& inputs = node(product).inputs;
  return readers_.only_reader(node(product).outputs[0]) == i && inputs.size() == 2 &&
         std::ranges::all_of(inputs, [&](ValueId input) { return overwrites_.same_at(input, product, i); });
}

}  // namespace troupe
