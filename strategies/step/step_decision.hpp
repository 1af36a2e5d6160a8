#pragma once

#include <limits>
#include <span>

#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// The largest sum, over the replicas, of the magnitudes of gradients with which a step is applied: half the largest
/// finite float32. The bound implies that the sums of the gradients are finite, so replicas can decide before the sums
/// exist. All replicas take the same decision, since they compare the same number.
inline constexpr float kLargestSum = std::numeric_limits<float>::max() / 2.0F;

/// The largest number of rows of a batch, or sum of their weights, with which the sum of accumulated gradients is sure
/// to be finite: Optimizer::accumulating() multiplies the gradients of a batch by that number. No memory holds a batch
/// of so many rows; check_of_weights() checks weights.
inline constexpr double kLargestAccumulatedRows = 0x1p40;

/// Returns the largest magnitude of the gradients of a replica with which a step is applied, if `weights` is the sum of
/// the numbers by which the gradients of all replicas are multiplied before they are added up, such as the number of
/// the replicas. A replica with a larger magnitude reports infinity. All other magnitudes have sums of at most
/// kLargestSum in every order, so all that add up magnitudes take the same decision. If the optimizer accumulates k
/// batches, the bound is k * kLargestAccumulatedRows times smaller.
double bound_of_magnitude(const Optimizer& optimizer, double weights);

/// Returns the check of the sums of the weights of a batch, scalars by which means divide: 0 if the magnitude of each
/// is at most kLargestAccumulatedRows, or kLargestSum for an optimizer that does not accumulate; else infinity. A
/// larger sum may make accumulated gradients infinite, or gradients 0.
Value check_of_weights(std::span<const Value> sums, const Optimizer& optimizer);

/// Returns the magnitude of a replica: the largest magnitude of its gradients, which are float32 of any shape; infinity
/// if that is above `bound`; a NaN if one of them has a NaN or the loss is not finite. `loss_check` is
/// ReplicaGradients::loss_check.
Value magnitude_of(Value loss_check, std::span<const Value> gradients, double bound);

/// Returns the magnitude of a worker whose gradients are sums of weighted losses, which servers divide by the sum of
/// the weights of all workers: the magnitude_of() of the sums, of `weight`, which is the sum of the worker's own
/// weights, and of the quotients of the sums by it. Infinity if the weight is below 0, or 0 although the sums are not:
/// weights of other workers may then have a sum near 0.
Value magnitude_of_sums(Value loss_check, std::span<const Value> sums, Value weight, double bound);

/// Returns the number by which a mean with these weights divides: the sum of the weights, or 1 if that is 0.
Value divisor_of(Value sum_of_weights);

/// Returns the flag that updates read: 1 if the losses and gradients of all replicas are finite, else 0, with which
/// updates change nothing. `sum` must be the sum of magnitude_of() over all replicas; the flag is 1 if the sum is at
/// most kLargestSum.
Value step_is_finite(Value sum);
/// Returns 1 if the flag that updates read is 0, else 0.
Value is_skipped(Value apply_if);

}  // namespace troupe
