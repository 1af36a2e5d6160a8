#include "troupe/ops/average_pool.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::vector<TensorInfo> infer_average_pool(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 4);
  const auto kernel_size = inputs.attributes.integer("kernel_size");
  const auto stride = inputs.attributes.integer("stride");
  const auto padding = inputs.attributes.integer("padding");
  if (kernel_size < 1 || stride < 1) inputs.refuse("kernel size and stride must be at least 1");
  if (padding < 0 || padding >= kernel_size) inputs.refuse("the padding must be less than the kernel size");
  const auto& x = inputs.shape(0);
  if (padding > std::max(x[1], x[2])) inputs.refuse("the padding is larger than the image");
  const auto size = [&](std::int64_t length) {
    if (length + 2 * padding < kernel_size) inputs.refuse("the kernel does not fit in the image");
    return (length + 2 * padding - kernel_size) / stride + 1;
  };
  return {{Shape{x[0], size(x[1]), size(x[2]), x[3]}, DType::float32}};
}

// Input: dy. The attribute shape is that of x.
std::vector<TensorInfo> infer_average_pool_grad(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  return {{Shape(inputs.attributes.list("shape")), DType::float32}};
}

std::vector<Value> grad_average_pool(const OpGradient& g) {
  return {g.builder.apply_one(kAveragePoolGrad, {g.dys[0]}, g.attributes.with("shape", g.inputs[0].shape().list()))};
}

}  // namespace

const OpDef kAveragePool{.name = "average_pool", .infer = infer_average_pool, .gradient = grad_average_pool};
const OpDef kAveragePoolGrad{.name = "average_pool_grad", .infer = infer_average_pool_grad};

Value average_pool(Value x, AveragePoolOptions options) {
  return x.builder().apply_one(
      kAveragePool, {x},
      {{"kernel_size", options.kernel_size}, {"stride", options.stride}, {"padding", options.padding}});
}

}  // namespace troupe
