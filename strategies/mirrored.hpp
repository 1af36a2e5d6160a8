#pragma once

#include "troupe/strategies/step/gradient_hook.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/transport/all_reduce_algorithm.hpp"

namespace troupe {

struct MirroredOptions {
  /// Gradients are reduced in buckets, in the order in which the backward pass makes them. The first bucket is smaller,
  /// so that reduction begins early.
  std::int64_t first_bucket_bytes = std::int64_t{1} << 20;
  std::int64_t bucket_bytes = std::int64_t{25} << 20;
  /// Updates wait until all ranks have every reduced bucket of the step, so that a failure leaves all replicas whole,
  /// at the same step. The cost is the overlap of updates with reductions, and a small collective.
  bool atomic_steps = false;
  /// The algorithm that sums gradients of replicas in several processes.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct;
  /// Makes gradients smaller on their way. Null: they travel unchanged.
  std::shared_ptr<const GradientHook> hook = {};
};

/// A replica at every place, each with its own copy of the parameters, equal at first. Every batch is split among the
/// replicas. Their gradients are summed, and every replica makes the same update. Gradients are divided by the rows of
/// the whole batch before, so uneven parts are exact.
class Mirrored : public Strategy {
 public:
  explicit Mirrored(std::vector<Place> places, MirroredOptions options = {});
  explicit Mirrored(const std::vector<Device>& devices, MirroredOptions options = {})
      : Mirrored(places_of(devices), std::move(options)) {}

  Plan training_plan(const PlanRequest& request) const override;

 private:
  MirroredOptions options_;
};

}  // namespace troupe
