#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// A trained vector for each of `rows` numbers: int32 or int64 [...] -> [..., units]. With `row_sparse` an update
/// changes only the vectors that the batch reads; see GraphBuilder::row_sparse_parameter. Strategies with servers then
/// send only those.
struct Embedding {
  static constexpr const char* kName = "embedding";
  std::int64_t rows;
  std::int64_t units;
  Initializer initializer = Initializer::normal(0.02);
  bool row_sparse = false;

  Value operator()(Value x) const;
};

/// x [B, T, C] plus a trained vector for each of the T positions.
struct PositionEmbedding {
  static constexpr const char* kName = "position";
  Initializer initializer = Initializer::normal(0.02);

  Value operator()(Value x) const;
};

/// Self-attention of a sequence [B, T, C] with several heads. Dense layers compute queries, keys and values from the
/// sequence, and a dense layer the result. C must be a multiple of `heads`.
struct MultiHeadAttention {
  static constexpr const char* kName = "attention";
  std::int64_t heads;
  /// Whether each position sees only itself and earlier positions.
  bool causal = false;
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

/// Carries the state of a recurrent layer from one batch to the next in training: the state at the end of a row's
/// sequence is the state at the beginning of that row's sequence in the next batch. The state is kept beside the
/// parameters. Batches must have `rows` rows, each the continuation of that row in the batch before, and must not be
/// shuffled. A row in which the field `begins`, float32 [B] or [B, 1], is 1 starts from zeros, for a new text.
struct CarriedState {
  std::int64_t rows = 0;  ///< 0: every sequence starts from zeros
  Value begins = {};
};

/// The lstm op with its weights: [B, T, C] -> [B, T, units].
struct Lstm {
  static constexpr const char* kName = "lstm";
  std::int64_t units;
  CarriedState carried = {};
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

/// A gated recurrent unit, unrolled over the times: [B, T, C] -> [B, T, units]. Source: Cho and others, "Learning
/// phrase representations using RNN encoder-decoder" (EMNLP 2014), with the reset gate after the product, as in cuDNN.
struct Gru {
  static constexpr const char* kName = "gru";
  std::int64_t units;
  CarriedState carried = {};
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

}  // namespace troupe
