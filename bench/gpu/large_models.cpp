#include "troupe/bench/gpu/large_models.hpp"

#include <algorithm>
#include <array>

#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/ops/nn/sequence.hpp"

namespace troupe::bench {

namespace {

constexpr std::int64_t kColumnsOfHead = 64;

Sequential transformer(const ModelSizes& sizes, const Initializer& init) {
  const auto heads = std::max<std::int64_t>(1, sizes.width / kColumnsOfHead);
  std::vector<Layer> layers{PositionEmbedding{}};
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    layers.emplace_back(
        Residual{{LayerNorm{}, MultiHeadAttention{.heads = heads, .causal = true, .initializer = init}}});
    layers.emplace_back(
        Residual{{LayerNorm{}, Dense{4 * sizes.width, gelu_tanh, init}, Dense{sizes.width, nullptr, init}}});
  }
  layers.emplace_back(LayerNorm{});
  return Sequential(std::move(layers));
}

Conv2d convolution(std::int64_t filters, std::int64_t kernel_size, std::int64_t stride = 1) {
  return {.filters = filters,
          .kernel_size = kernel_size,
          .options = {.stride = stride, .padding = kernel_size / 2},
          .initializer = Initializer::he_uniform(),
          .bias = false};
}

/// Three convolutions, which narrow to `width` channels and widen to four times as many, and a shortcut around them.
Residual bottleneck(std::int64_t width, std::int64_t stride, bool first_of_stage) {
  Residual block{.body = {convolution(width, 1), BatchNorm{}, relu, convolution(width, 3, stride), BatchNorm{}, relu,
                          convolution(4 * width, 1), BatchNorm{}},
                 .activation = relu};
  if (first_of_stage) block.shortcut = {convolution(4 * width, 1, stride), BatchNorm{}};
  return block;
}

}  // namespace

ModelSizes ModelSizes::or_else(const ModelSizes& published) const {
  const auto one = [](std::int64_t size, std::int64_t other) { return size == 0 ? other : size; };
  return {one(layers, published.layers), one(width, published.width), one(length, published.length),
          one(classes, published.classes)};
}

Model gpt2(const ModelSizes& sizes) {
  return Model([sizes](Value tokens) {
    const auto init = Initializer::normal(0.02);
    const auto table = tokens.builder().parameter("embedding", {sizes.classes, sizes.width}, init);
    return matmul(transformer(sizes, init)(gather(table, tokens)), table, {.transpose_b = true});
  });
}

Sequential resnet50(const ModelSizes& sizes) {
  constexpr std::array<std::int64_t, 4> kBlocks{3, 4, 6, 3};
  std::vector<Layer> layers{convolution(sizes.width, 7, 2), BatchNorm{}, relu,
                            MaxPool{{.kernel_size = 3, .stride = 2, .padding = 1}}};
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage)
    for (std::int64_t block = 0; block < std::min(kBlocks[stage], sizes.layers); ++block)
      layers.emplace_back(bottleneck(sizes.width << stage, stage > 0 && block == 0 ? 2 : 1, block == 0));
  layers.emplace_back(GlobalAveragePool{});
  layers.emplace_back(Dense{sizes.classes});
  return Sequential(std::move(layers));
}

}  // namespace troupe::bench
