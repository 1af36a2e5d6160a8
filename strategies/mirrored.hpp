#pragma once

#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/transport/all_reduce_algorithm.hpp"

namespace troupe {

struct MirroredOptions {
  /// The largest sizes of the first bucket and of every other bucket, in bytes. Gradients are summed in buckets, in the
  /// order in which the backward pass makes them. The first bucket is smaller by default, so that the first sum begins
  /// early. A gradient larger than the largest size of a bucket has a bucket of its own.
  std::int64_t first_bucket_bytes = std::int64_t{1} << 20;
  std::int64_t bucket_bytes = std::int64_t{25} << 20;
  /// True: updates wait until all ranks have the sums of all buckets of the step. After a failure all replicas then
  /// have complete parameters of the same step. The cost: updates do not overlap with sums, and each step has one more
  /// small collective.
  bool atomic_steps = false;
  /// The algorithm that sums gradients of replicas in several processes.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct;
  /// Compresses the gradients that replicas exchange. Null: replicas exchange float32 gradients.
  std::shared_ptr<const GradientHook> hook = {};
};

/// A strategy of synchronous data parallelism. A replica at every place has its own copy of the parameters; all copies
/// start with equal values. Every batch is split among the replicas. Their gradients are summed, and every replica
/// makes the same update. Before the sum, each replica divides its gradients by the number of rows of the whole batch,
/// so the result is exact for parts of unequal size.
class Mirrored : public Strategy {
 public:
  explicit Mirrored(std::vector<Place> places, MirroredOptions options = {});
  explicit Mirrored(const std::vector<Device>& devices, MirroredOptions options = {})
      : Mirrored(places_of(devices), std::move(options)) {}

  std::optional<bool> equal_copies() const override { return true; }
  Plan training_plan(const PlanRequest& request) const override;

 private:
  MirroredOptions options_;
};

}  // namespace troupe
