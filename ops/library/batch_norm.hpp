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

/// The statistics of the rows of one replica. x must be [B, ..., C] of a float dtype. Returns float32 [3, C]: for each
/// channel the number of its elements, their mean, and the sum of the squared distances from that mean. A replica
/// without rows has zeros. Distances are taken from the mean of a few rows of the batch, so that a mean that is large
/// compared with the deviation costs no digits of the variance. The op has no gradient: the gradient of batch_norm
/// includes the part that passes through the statistics.
Value replica_moments(Value x);

/// The statistics of the whole batch from those of the replicas. `parts` must be float32 [replicas, 3, C], the results
/// of replica_moments(x) of all replicas, as all_gather returns them. Combines them in the order of the replicas: Chan,
/// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
BatchMoments batch_moments(Value parts);

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
/// normalization" (ICML 2015). x must be [B, ..., C] of a float dtype with the channels as its last axis, and the
/// result has its dtype; mean, variance, scale and shift must be float32 [C]. Only the gradient with `of_batch` uses
/// the count of the moments.
Value batch_norm(Value x, BatchMoments moments, Value scale, Value shift, BatchNormOptions options);

}  // namespace troupe
