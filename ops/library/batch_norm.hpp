#pragma once

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Statistics of every channel: those of the whole batch, which is the rows of all replicas, or running averages of
/// them.
struct BatchMoments {
  Value mean;      ///< float32 [C]
  Value variance;  ///< float32 [C], the mean squared distance from the mean
  Value count;     ///< float32 scalar, the number of elements of each channel in the whole batch
};

/// The part of one replica in the statistics of a whole batch. x must be float32 [B, ..., C], and `center` float32 [C],
/// the same on all replicas. Returns float32 [2, C]: for each channel the sum of x - center and the sum of its square.
/// `center` should lie near the mean: the further away it is, in standard deviations, the more digits of the variance
/// are lost. The op has no gradient: the gradient of batch_norm includes the part that passes through the statistics.
Value batch_sums(Value x, Value center);

/// The statistics of the whole batch. `sums` must be the results of batch_sums(x, center) added up over all replicas,
/// `like` must be x, which gives the number of elements per row, and `batch_info` GraphBuilder::batch_info(). Throws
/// Error if `like` does not have the channels of `center`.
BatchMoments batch_moments(Value sums, Value center, Value like, Value batch_info);

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// True: the moments were computed from x, and the gradient of x includes the part that passes through them. False:
  /// the moments, such as running means, are constants.
  bool of_batch = true;
  /// True: the gradient of x adds up, by an all_reduce over all replicas, the two sums over the batch that it needs.
  /// False: it uses the sums of this replica alone. It must be true if the moments were computed over several replicas.
  /// Without `of_batch` it has no effect.
  bool all_reduced = true;
};

/// Returns (x - mean) / sqrt(variance + epsilon) * scale + shift for every channel: Ioffe and Szegedy, "Batch
/// normalization" (ICML 2015). x must be float32 [B, ..., C] with the channels as its last axis; mean, variance, scale
/// and shift must be float32 [C]. Only the gradient with `of_batch` uses the count of the moments.
Value batch_norm(Value x, BatchMoments moments, Value scale, Value shift, BatchNormOptions options);

}  // namespace troupe
