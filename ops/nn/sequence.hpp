#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// A trained vector for each of `rows` numbers: int32 or int64 [...] -> [..., units]. With `row_sparse` only vectors
/// that a batch reads are updated, see GraphBuilder::row_sparse_parameter; strategies with servers then send no others.
struct Embedding {
  static constexpr const char* kName = "embedding";
  std::int64_t rows;
  std::int64_t units;
  Initializer initializer = Initializer::normal(0.02);
  bool row_sparse = false;

  Value operator()(Value x) const;
};

/// x [B, T, C] plus a trained vector for each of the T places.
struct PositionEmbedding {
  static constexpr const char* kName = "position";
  Initializer initializer = Initializer::normal(0.02);

  Value operator()(Value x) const;
};

/// Attention of a sequence [B, T, C] to itself, by several heads: queries, keys and values are dense layers of it, and
/// so is what becomes of the result. C must be a multiple of the heads.
struct MultiHeadAttention {
  static constexpr const char* kName = "attention";
  std::int64_t heads;
  /// Places see only themselves and those before them.
  bool causal = false;
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

/// Whether the state that a recurrent layer has at the end of a sequence is that at the beginning of the sequence in
/// the same row of the next batch, in training. It is kept beside the parameters. Batches must have `rows` rows, each
/// the continuation of that row before, and are not shuffled. A row may begin a new text: then the field `begins`,
/// float32 [B] or [B, 1], is 1 there, and the state starts anew.
struct CarriedState {
  std::int64_t rows = 0;  ///< 0: every sequence starts with zeros
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

/// A gated recurrent unit, unrolled over the times: [B, T, C] -> [B, T, units]. Cho and others, "Learning phrase
/// representations using RNN encoder-decoder" (EMNLP 2014), with the reset gate after the product, as in cuDNN.
struct Gru {
  static constexpr const char* kName = "gru";
  std::int64_t units;
  CarriedState carried = {};
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

}  // namespace troupe
