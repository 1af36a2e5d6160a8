#include "troupe/ops/library/broadcast.hpp"

#include <algorithm>

#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

namespace {

/// The size of one axis of the result, if two operands have the sizes a and b. Throws Error if the sizes do not match.
std::int64_t broadcast_size(const OpInputs& inputs, std::int64_t a, std::int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  inputs.refuse("shapes do not broadcast");
}

}  // namespace

Shape broadcast_shape(const OpInputs& inputs) {
  std::size_t rank = 0;
  for (const auto& info : inputs.infos) rank = std::max(rank, info.shape.rank());
  std::vector<std::int64_t> sizes(rank, 1);
  for (const auto& info : inputs.infos)
    for (std::size_t i = 0; i < info.shape.rank(); ++i) {
      auto& size = sizes[rank - 1 - i];
      size = broadcast_size(inputs, size, info.shape.back(i));
    }
  if (std::find(sizes.begin() + (rank > 0 ? 1 : 0), sizes.end(), kBatch) != sizes.end())
    inputs.refuse("only the first axis can be the batch");
  return Shape(sizes);
}

Value reduce_to(Value dy, Value x) {
  const Shape target = x.shape(), stretched = dy.shape();
  if (stretched == target) return dy;
  std::vector<std::int64_t> repeated_axes;
  const auto missing = stretched.rank() - target.rank();
  for (std::size_t axis = 0; axis < stretched.rank(); ++axis) {
    if (axis < missing || (target[axis - missing] == 1 && stretched[axis] != 1))
      repeated_axes.push_back(static_cast<std::int64_t>(axis));
  }
  const auto sum = repeated_axes.empty() ? dy : reduce_sum(dy, repeated_axes);
  return sum.shape() == target ? sum : reshape(sum, target);
}

}  // namespace troupe
