#pragma once

#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/ops/nn/sequence.hpp"

namespace troupe::examples {

struct GptSizes {
  std::int64_t layers = 4, heads = 4, width = 128;
};

/// A decoder-only transformer: characters int32 [B, T] -> logits of the next characters [B, T, characters]. Source:
/// Radford and others, "Language models are unsupervised multitask learners" (2019).
inline Sequential gpt(std::int64_t characters, GptSizes sizes = {}) {
  const auto init = Initializer::normal(0.02);
  std::vector<Layer> layers{Embedding{characters, sizes.width}, PositionEmbedding{}};
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    layers.emplace_back(
        Residual{{LayerNorm{}, MultiHeadAttention{.heads = sizes.heads, .causal = true, .initializer = init}}});
    layers.emplace_back(Residual{{LayerNorm{}, Dense{4 * sizes.width, gelu, init}, Dense{sizes.width, nullptr, init}}});
  }
  layers.emplace_back(LayerNorm{});
  layers.emplace_back(Dense{.units = characters, .initializer = init, .bias = false});
  return Sequential(std::move(layers));
}

/// An LSTM that predicts the next character: int32 [B, T] -> logits [B, T, characters].
inline Sequential lstm_model(std::int64_t characters, std::int64_t units = 256) {
  return {Embedding{characters, 128}, Lstm{.units = units}, Dense{characters}};
}

}  // namespace troupe::examples
