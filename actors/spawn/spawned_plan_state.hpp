#pragma once

#include <memory>
#include <set>
#include <vector>

#include "troupe/actors/control/progress_watch.hpp"
#include "troupe/actors/control/run_coordinator.hpp"
#include "troupe/actors/spawn/connections.hpp"
#include "troupe/actors/spawn/plan_part.hpp"
#include "troupe/actors/spawn/run_leases.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"

namespace troupe {

/// The parts of a SpawnedPlan in this process, and the state of its runs.
struct SpawnedPlan::State : SpawnedTogether {
  /// The same object as `control` if the plan was spawned without a cluster, else null.
  std::shared_ptr<RunCoordinator> coordinator;
  std::set<int> lost;
  /// The connections to the other processes; null without a cluster.
  std::unique_ptr<ClusterRun> cluster;
  std::vector<std::unique_ptr<PlanPart>> parts;
  RunLeases leases;
  /// Set if a run that has succeeded has not kept the copies equal that the strategy says are equal.
  FailurePtr unequal_copies;
  ProgressWatch watch;

  bool under_test() const { return parts.front()->runtime().options().test_seed.has_value(); }

  std::vector<const ExecutorStatus*> statuses() const {
    std::vector<const ExecutorStatus*> statuses;
    for (const auto& part : parts)
      for (const auto& status : part->statuses()) statuses.push_back(status.get());
    return statuses;
  }
};

}  // namespace troupe
