#pragma once

#include "troupe/ops/nn/layers.hpp"

namespace troupe {

/// A table of `rows` trained vectors of `units` elements. Takes numbers in [0, rows), int32 or int64 [...], and returns
/// the vectors with these numbers, float32 [..., units]. With `row_sparse` an update changes only the vectors that the
/// batch reads (see GraphBuilder::row_sparse_parameter), and strategies with parameter servers send only these vectors.
/// Throws Error if `rows` or `units` is below 1.
struct Embedding {
  static constexpr const char* kName = "embedding";
  std::int64_t rows;
  std::int64_t units;
  Initializer initializer = Initializer::normal(0.02);
  bool row_sparse = false;

  Value operator()(Value x) const;
};

/// Adds a trained vector of C elements to each of the T positions of a sequence float32 [B, T, C], and returns the sum,
/// which has the same shape.
struct PositionEmbedding {
  static constexpr const char* kName = "position";
  Initializer initializer = Initializer::normal(0.02);

  Value operator()(Value x) const;
};

/// Self-attention with several heads. Takes a sequence float32 [B, T, C] and returns a sequence of the same shape.
/// Three dense layers compute queries, keys and values from the sequence; a fourth computes the result from the output
/// of the attention op. Throws Error if `heads` is below 1 or C is not a multiple of `heads`.
struct MultiHeadAttention {
  static constexpr const char* kName = "attention";
  std::int64_t heads;
  /// True: each position attends only to itself and earlier positions.
  bool causal = false;
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

/// Options by which a recurrent layer of a training graph carries its state from one batch to the next: the state at
/// the end of a row's sequence is the state at the beginning of that row's sequence in the next batch. The state is
/// kept beside the parameters. Batches must have `rows` rows, each the continuation of the same row in the batch
/// before, and must not be shuffled: a training on other data throws Error. A row whose number in `begins`, float32 [B]
/// or [B, 1], is above 0 starts from zeros, for example because a new text begins.
struct CarriedState {
  std::int64_t rows = 0;  ///< number of rows of a batch; 0: no state is carried
  Value begins = {};
};

/// The name of the attribute, the number of rows of a state, that marks the op which reads a carried state in a graph.
inline constexpr const char* kCarriedRows = "carried_rows";

/// A recurrent layer that applies the op lstm with trained weights. Takes a sequence float32 [B, T, C] and returns the
/// hidden states of all T times, float32 [B, T, units]. Throws Error if `units` is below 1.
struct Lstm {
  static constexpr const char* kName = "lstm";
  std::int64_t units;
  CarriedState carried = {};
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

/// A recurrent layer of gated recurrent units, unrolled: the graph has separate nodes for each time step. Takes a
/// sequence float32 [B, T, C] and returns the hidden states of all T times, float32 [B, T, units]. Throws Error if
/// `units` is below 1. Source: Cho and others, "Learning phrase representations using RNN encoder-decoder" (EMNLP
/// 2014). The reset gate is applied after the product of hidden state and weights, which is the variant of cuDNN.
struct Gru {
  static constexpr const char* kName = "gru";
  std::int64_t units;
  CarriedState carried = {};
  Initializer initializer = Initializer::fan_in_uniform();

  Value operator()(Value x) const;
};

}  // namespace troupe
