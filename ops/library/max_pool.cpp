#include "troupe/ops/library/max_pool.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/pooled_shape.hpp"

namespace troupe {

namespace {

// The argmax is stored as one byte: 225 places, and kNoPlace.
constexpr std::int64_t kMaxKernelSize = 15;
static_assert(kMaxKernelSize * kMaxKernelSize <= kNoPlace);

std::vector<TensorInfo> infer_max_pool(const OpInputs& inputs) {
  const auto y = pooled_shape(inputs);
  if (inputs.attributes.integer("kernel_size") > kMaxKernelSize)
    inputs.refuse("the kernel size must be 1 to " + std::to_string(kMaxKernelSize));
  return {{y, inputs[0].dtype}, {y, DType::uint8}};
}

// Inputs: dy, the argmax of every window. The attribute shape is that of x.
std::vector<TensorInfo> infer_max_pool_grad(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_float(0);
  return {{Shape(inputs.attributes.list("shape")), inputs[0].dtype}};
}

std::vector<Value> grad_max_pool(const OpGradient& g) {
  return {g.builder.apply_one(kMaxPoolGrad, {g.dys[0], g.outputs[1]},
                              g.attributes.with("shape", g.inputs[0].shape().list()))};
}

}  // namespace

const OpDef kMaxPool{.name = "max_pool", .infer = infer_max_pool, .gradient = grad_max_pool, .half = HalfKernels::gpu, .role = HalfRole::follows};
const OpDef kMaxPoolGrad{.name = "max_pool_grad", .infer = infer_max_pool_grad, .half = HalfKernels::gpu, .role = HalfRole::follows};

Value max_pool(Value x, MaxPoolOptions options) {
  return x.builder().apply_one(kMaxPool, {x},
                               {{"kernel_size", options.kernel_size},
                                {"stride", options.stride},
                                {"padding", options.padding},
                                {"relu", false}});
}

}  // namespace troupe
