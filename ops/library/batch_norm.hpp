#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The statistics of the channels of a whole batch, over all replicas.
struct BatchMoments {
  Value mean;      ///< [C]
  Value variance;  ///< [C], the mean squared distance from the mean
  Value count;     ///< scalar: the elements of a channel in the whole batch
};

/// The share of one replica in the moments of the channels of x [B, ..., C]: float32 [2, C], the sums of x - center and
/// of its square. `center` [C] is the same on all replicas and should lie near the mean: the further away it is, in
/// standard deviations, the more digits of the variance are lost. It passes no gradient on: batch_norm does.
Value batch_sums(Value x, Value center);

/// Mean and variance of the whole batch. `sums` is batch_sums added up over all replicas. `like` is x; it gives the
/// elements per row.
BatchMoments batch_moments(Value sums, Value center, Value like, Value batch_info);

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// True: mean and variance are those of the batch, and the gradient passes through them. False: they are constants.
  bool of_batch = true;
  /// True: the sums in the gradient are added up over all replicas by an all_reduce. Needed where the moments of the
  /// batch come from several replicas.
  bool all_reduced = true;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + shift for every channel, the last axis of x [B, ..., C]: Ioffe and
/// Szegedy, "Batch normalization" (ICML 2015). Scale, shift and moments are [C]. The count of the moments is used only
/// in the gradient with `of_batch`.
Value batch_norm(Value x, BatchMoments moments, Value scale, Value shift, BatchNormOptions options);

}  // namespace troupe
