#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The statistics of the channels of a batch: what the replicas' parts give adds up.
struct BatchMoments {
  Value mean;      ///< [C]
  Value variance;  ///< [C], the mean squared distance from the mean
  Value count;     ///< scalar: the elements of a channel in the whole batch
};

/// What one replica's rows add to the moments of the channels of x [B, ..., C]: float32 [2, C], the sums of x - centre
/// and of its square. `centre` [C], the same on all replicas, should lie near the mean: the further it is away in
/// standard deviations, the more digits of the variance are lost. It passes no gradient on: batch_norm does.
Value batch_sums(Value x, Value centre);

/// Mean and variance of the whole batch from the sums of all replicas. `like` is x, for the elements per row.
BatchMoments batch_moments(Value sums, Value centre, Value like, Value batch_info);

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// Mean and variance are those of the batch: the gradient passes through them, by an all_reduce of its own if
  /// `all_reduced` is set, as it must be where they come from several replicas. Otherwise they are constants.
  bool of_batch = true;
  bool all_reduced = true;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + shift for every channel, the last axis of x [B, ..., C]: Ioffe and
/// Szegedy, "Batch normalization" (ICML 2015). The others are [C]. Unless the moments are those of the batch, their
/// count does not matter.
Value batch_norm(Value x, BatchMoments moments, Value scale, Value shift, BatchNormOptions options);

}  // namespace troupe
