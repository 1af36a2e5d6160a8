#include "troupe/ops/nn/layers.hpp"

#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/matmul.hpp"
#include "troupe/ops/reshape.hpp"

namespace troupe {

Value Dense::operator()(Value x) const {
  if (units < 1) throw Error("dense", "needs at least one unit, not " + std::to_string(units));
  if (x.shape().rank() != 2)
    throw Error("dense", "needs [B, N], not " + to_string(x.info()) + "; put Flatten before it");
  auto& builder = x.builder();
  const auto weights = builder.parameter("weights", {x.shape()[1], units}, initializer);
  const auto bias = builder.parameter("bias", {units}, Initializer::zeros());
  const auto y = linear(x, weights, bias);
  return activation != nullptr ? activation(y) : y;
}

Value Conv2d::operator()(Value x) const {
  if (filters < 1 || kernel_size < 1)
    throw Error("conv2d", "needs at least one filter and a kernel size of at least 1");
  if (x.shape().rank() != 4) throw Error("conv2d", "needs images [B, H, W, C], not " + to_string(x.info()));
  auto& builder = x.builder();
  const Shape shape{kernel_size, kernel_size, x.shape()[3], filters};
  const auto weights = builder.parameter("weights", shape, initializer);
  const auto bias = builder.parameter("bias", {filters}, Initializer::zeros());
  const auto y = conv2d(x, weights, bias, options);
  return activation != nullptr ? activation(y) : y;
}

Value Flatten::operator()(Value x) const {
  return flatten(x);
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
