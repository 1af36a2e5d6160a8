#include "troupe/ops/library/pool.hpp"

#include <algorithm>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/extent.hpp"

namespace troupe {

namespace {

// Max pooling stores, for each window, the position of its largest element in one byte: 0 .. 224 for the 225 elements
// of the largest window, or kNoPlace.
constexpr std::int64_t kMaxKernelSize = 15;
static_assert(kMaxKernelSize * kMaxKernelSize <= kNoPlace);

/// The shape of the pooled images. Throws Error if an attribute is out of range, or a window is larger than the padded
/// image.
Shape pooled_shape(const OpInputs& inputs) {
  inputs.expect_floats(1);
  inputs.expect_rank(0, 4);
  const auto kernel_size = inputs.attributes.integer("kernel_size");
  const auto stride = inputs.attributes.integer("stride");
  const auto padding = inputs.attributes.integer("padding");
  if (kernel_size < 1 || stride < 1) inputs.refuse("kernel size and stride must be at least 1");
  if (kernel_size > kMaxExtent || stride > kMaxExtent)
    inputs.refuse("kernel size and stride must be at most " + std::to_string(kMaxExtent));
  if (padding < 0 || padding >= kernel_size) inputs.refuse("the padding must be less than the kernel size");
  const auto& x = inputs.shape(0);
  const auto pooled_size = [&](std::int64_t size) {
    if (size + 2 * padding < kernel_size) inputs.refuse("the kernel does not fit in the image");
    return (size + 2 * padding - kernel_size) / stride + 1;
  };
  return {x[0], pooled_size(x[1]), pooled_size(x[2]), x[3]};
}

// The shape rule of max_pool. Attributes: kernel_size, stride, padding, and relu: true if a relu is applied last.
// Outputs: the pooled images, and the position of the largest element in each window, or kNoPlace if the window passes
// no gradient on.
std::vector<TensorInfo> infer_max_pool(const OpInputs& inputs) {
  const auto y = pooled_shape(inputs);
  if (inputs.attributes.integer("kernel_size") > kMaxKernelSize)
    inputs.refuse("the kernel size must be 1 to " + std::to_string(kMaxKernelSize));
  return {{y, inputs[0].dtype}, {y, DType::uint8}};
}

std::vector<TensorInfo> infer_average_pool(const OpInputs& inputs) {
  const auto y = pooled_shape(inputs);
  const auto& x = inputs.shape(0);
  if (inputs.attributes.integer("padding") > std::max(x[1], x[2]))
    inputs.refuse("the padding is larger than the image");
  return {{y, inputs[0].dtype}};
}

// The shape rule of max_pool_grad and average_pool_grad, which have `count` inputs: dy and, for max pooling, the
// positions of the largest elements. The attribute `shape` is the shape of the images. Output: the gradient of the
// images.
template <std::size_t count>
std::vector<TensorInfo> infer_pool_grad(const OpInputs& inputs) {
  inputs.expect_count(count, count);
  inputs.expect_float(0);
  return {{Shape(inputs.attributes.list("shape")), inputs[0].dtype}};
}

Attributes with_shape_of_input(const OpGradient& g) {
  return g.attributes.with("shape", g.inputs[0].shape().list());
}

std::vector<Value> grad_max_pool(const OpGradient& g) {
  return {g.builder.apply_one(kMaxPoolGrad, {g.dys[0], g.outputs[1]}, with_shape_of_input(g))};
}

std::vector<Value> grad_average_pool(const OpGradient& g) {
  return {g.builder.apply_one(kAveragePoolGrad, {g.dys[0]}, with_shape_of_input(g))};
}

template <class Options>
Attributes pool_attributes(Options options) {
  return {{"kernel_size", options.kernel_size}, {"stride", options.stride}, {"padding", options.padding}};
}

}  // namespace

const OpDef kMaxPool{.name = "max_pool", .infer = infer_max_pool, .gradient = grad_max_pool, .role = HalfRole::follows};
const OpDef kMaxPoolGrad{.name = "max_pool_grad", .infer = infer_pool_grad<2>, .role = HalfRole::follows};
const OpDef kAveragePool{
    .name = "average_pool", .infer = infer_average_pool, .gradient = grad_average_pool, .role = HalfRole::follows};
const OpDef kAveragePoolGrad{.name = "average_pool_grad", .infer = infer_pool_grad<1>, .role = HalfRole::follows};

Value max_pool(Value x, MaxPoolOptions options) {
  return x.builder().apply_one(kMaxPool, {x}, pool_attributes(options).with("relu", false));
}

Value average_pool(Value x, AveragePoolOptions options) {
  return x.builder().apply_one(kAveragePool, {x}, pool_attributes(options));
}

}  // namespace troupe
