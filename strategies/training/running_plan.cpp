#include "troupe/strategies/training/running_plan.hpp"

#include <mutex>

#include "troupe/actors/spawn/spawned_plan.hpp"

namespace troupe {

struct RunningPlan::State {
  // Recursive, since a plan that ends may call a function of its owner in stop().
  std::recursive_mutex mutex;
  SpawnedPlan* plan = nullptr;
};

RunningPlan::RunningPlan() : state_(std::make_unique<State>()) {}
RunningPlan::~RunningPlan() = default;

void RunningPlan::set(SpawnedPlan* plan) {
  std::lock_guard lock(state_->mutex);
  state_->plan = plan;
}

void RunningPlan::stop() {
  std::lock_guard lock(state_->mutex);
  if (state_->plan != nullptr) state_->plan->stop();
}

void RunningPlan::interrupt() {
  std::lock_guard lock(state_->mutex);
  if (state_->plan != nullptr) state_->plan->interrupt();
}

}  // namespace troupe
