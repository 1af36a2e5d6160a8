#include "troupe/ops/library/average_pool.hpp"

#include <algorithm>

#include "troupe/ops/library/pooled_shape.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_average_pool(const OpInputs& inputs) {
  const auto y = pooled_shape(inputs);
  const auto& x = inputs.shape(0);
  if (inputs.attributes.integer("padding") > std::max(x[1], x[2]))
    inputs.refuse("the padding is larger than the image");
  return {{y, inputs[0].dtype}};
}

// Input: dy. The attribute shape is that of x.
std::vector<TensorInfo> infer_average_pool_grad(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_float(0);
  return {{Shape(inputs.attributes.list("shape")), inputs[0].dtype}};
}

std::vector<Value> grad_average_pool(const OpGradient& g) {
  return {g.builder.apply_one(kAveragePoolGrad, {g.dys[0]}, g.attributes.with("shape", g.inputs[0].shape().list()))};
}

}  // namespace

const OpDef kAveragePool{.name = "average_pool", .infer = infer_average_pool, .gradient = grad_average_pool, .half = HalfKernels::gpu, .role = HalfRole::follows};
const OpDef kAveragePoolGrad{.name = "average_pool_grad", .infer = infer_average_pool_grad, .half = HalfKernels::gpu, .role = HalfRole::follows};

Value average_pool(Value x, AveragePoolOptions options) {
  return x.builder().apply_one(
      kAveragePool, {x},
      {{"kernel_size", options.kernel_size}, {"stride", options.stride}, {"padding", options.padding}});
}

}  // namespace troupe
