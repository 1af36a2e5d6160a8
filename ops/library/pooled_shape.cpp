#include "troupe/ops/library/pooled_shape.hpp"

#include <algorithm>

namespace troupe {

Shape pooled_shape(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_float(0);
  inputs.expect_rank(0, 4);
  const auto kernel_size = inputs.attributes.integer("kernel_size");
  const auto stride = inputs.attributes.integer("stride");
  const auto padding = inputs.attributes.integer("padding");
  if (kernel_size < 1 || stride < 1) inputs.refuse("kernel size and stride must be at least 1");
  if (padding < 0 || padding >= kernel_size) inputs.refuse("the padding must be less than the kernel size");
  const auto& x = inputs.shape(0);
  const auto size = [&](std::int64_t length) {
    if (length + 2 * padding < kernel_size) inputs.refuse("the kernel does not fit in the image");
    return (length + 2 * padding - kernel_size) / stride + 1;
  };
  return {x[0], size(x[1]), size(x[2]), x[3]};
}

}  // namespace troupe
