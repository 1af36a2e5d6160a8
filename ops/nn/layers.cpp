#include "troupe/ops/nn/layers.hpp"

#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"

namespace troupe {

Value Dense::operator()(Value x) const {
  if (units < 1) throw Error("dense", "needs at least one unit, not " + std::to_string(units));
  if (x.shape().rank() < 2) throw Error("dense", "needs [..., N], not " + to_string(x.info()));
  auto& builder = x.builder();
  const auto weights = builder.parameter("weights", {x.shape().back(0), units}, initializer);
  const auto y =
      bias ? linear(x, weights, builder.parameter("bias", {units}, Initializer::zeros())) : matmul(x, weights);
  return activation != nullptr ? activation(y) : y;
}

Value Conv2d::operator()(Value x) const {
  if (filters < 1 || kernel_size < 1)
    throw Error("conv2d", "needs at least one filter and a kernel size of at least 1");
  if (x.shape().rank() != 4) throw Error("conv2d", "needs images [B, H, W, C], not " + to_string(x.info()));
  auto& builder = x.builder();
  if (options.groups < 1) throw Error("conv2d", "needs at least one group, not " + std::to_string(options.groups));
  const Shape shape{kernel_size, kernel_size, x.shape()[3] / options.groups, filters};
  const auto weights = builder.parameter("weights", shape, initializer);
  const auto y = bias ? conv2d(x, weights, builder.parameter("bias", {filters}, Initializer::zeros()), options)
                      : conv2d(x, weights, options);
  return activation != nullptr ? activation(y) : y;
}

Value Flatten::operator()(Value x) const {
  return flatten(x);
}

Value GlobalAveragePool::operator()(Value x) const {
  if (x.shape().rank() != 4) throw Error("average", "needs images [B, H, W, C], not " + to_string(x.info()));
  return reduce_mean(x, std::vector<std::int64_t>{1, 2});
}

Value Residual::operator()(Value x) const {
  const auto in_scope = [&](const char* name, const Sequential& layers) {
    GraphBuilder::Scope scope(x.builder(), name);
    return layers(x);
  };
  const auto y = in_scope("body", body);
  const auto skipped = in_scope("shortcut", shortcut);
  if (!(y.info() == skipped.info()))
    throw Error("residual", "the body gives " + to_string(y.info()) + " but the shortcut " + to_string(skipped.info()));
  const auto sum = add(y, skipped);
  return activation != nullptr ? activation(sum) : sum;
}

Value Sequential::operator()(Value x) const {
  std::map<std::string, int> numbers;
  for (const auto& layer : layers_) {
    GraphBuilder::Scope scope(x.builder(), layer.name() + std::to_string(++numbers[layer.name()]));
    x = layer(x);
  }
  return x;
}

}  // namespace troupe
