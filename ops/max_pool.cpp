#include "troupe/ops/max_pool.hpp"

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// The argmax is stored as one byte: 225 places, and kNoPlace.
constexpr std::int64_t kMaxWindow = 15;
static_assert(kMaxWindow * kMaxWindow <= kNoPlace);

std::vector<TensorInfo> infer_max_pool(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 4);
  const auto window = inputs.attributes.integer("window");
  const auto stride = inputs.attributes.integer("stride");
  const auto padding = inputs.attributes.integer("padding");
  if (window < 1 || window > kMaxWindow)
    inputs.refuse("the window must be 1 to " + std::to_string(kMaxWindow) + " wide");
  if (stride < 1) inputs.refuse("the stride must be at least 1");
  if (padding < 0 || padding >= window) inputs.refuse("the padding must be less than the window");
  const auto& x = inputs.shape(0);
  const auto size = [&](std::int64_t length) {
    if (length + 2 * padding < window) inputs.refuse("the window does not fit in the image");
    return (length + 2 * padding - window) / stride + 1;
  };
  const Shape y{x[0], size(x[1]), size(x[2]), x[3]};
  return {{y, DType::float32}, {y, DType::uint8}};
}

// Inputs: dy, the argmax of every window. The attribute shape is that of x.
std::vector<TensorInfo> infer_max_pool_grad(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  return {{Shape(inputs.attributes.list("shape")), DType::float32}};
}

std::vector<Value> grad_max_pool(const OpGradient& g) {
  return {g.builder.apply_one(kMaxPoolGrad, {g.dys[0], g.outputs[1]},
                              g.attributes.with("shape", g.inputs[0].shape().list()))};
}

}  // namespace

const OpDef kMaxPool{.name = "max_pool", .infer = infer_max_pool, .gradient = grad_max_pool};
const OpDef kMaxPoolGrad{.name = "max_pool_grad", .infer = infer_max_pool_grad};

Value max_pool(Value x, MaxPoolOptions options) {
  return x.builder().apply_one(
      kMaxPool, {x},
      {{"window", options.window}, {"stride", options.stride}, {"padding", options.padding}, {"relu", false}});
}

}  // namespace troupe
