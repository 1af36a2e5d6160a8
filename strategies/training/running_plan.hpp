#pragma once

#include <memory>

namespace troupe {

class SpawnedPlan;

/// The plan of a fit for other threads, which stop or interrupt its run. Thread-safe.
class RunningPlan {
 public:
  RunningPlan();
  ~RunningPlan();

  /// Sets the plan, or no plan if null. Waits until the calls of other threads have returned, so that the plan before
  /// can be destroyed.
  void set(SpawnedPlan* plan);
  /// Calls SpawnedPlan::stop(), if there is a plan.
  void stop();
  /// Calls SpawnedPlan::interrupt(), if there is a plan.
  void interrupt();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
