#pragma once

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/metrics_log.hpp"

namespace troupe::bench {

/// The training step as a spawned plan, which is kept from measurement to measurement.
class ActorStep {
 public:
  ActorStep(const TrainingSpec& spec, const Dataset& data, int replicas, Grain grain, int workers);

  /// Runs this many steps from the beginning of an epoch. Returns samples per second.
  double run(std::int64_t steps);

 private:
  SpawnContext make_context();

  const Dataset& data_;
  Runtime runtime_;
  std::unique_ptr<Strategy> strategy_;
  MetricsLog log_;
  SpawnedPlan plan_;
  std::int64_t step_ = 0, epoch_ = 0;
};

}  // namespace troupe::bench
