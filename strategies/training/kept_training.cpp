#include "troupe/strategies/training/kept_training.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/strategies/training/metrics_log.hpp"

namespace troupe {

struct KeptTraining::State {
  struct Kept {
    Dataset data;
    NonFiniteLoss on_non_finite_loss;
    Training training;
  };
  std::mutex mutex;
  std::optional<Kept> kept;
};

namespace {

bool can_keep(const SpawnedPlan& plan) {
  return !plan.is_shared() && plan.can_run_again() && std::ranges::all_of(plan.plan().actors, [](const auto& actor) {
    return is_host(actor.place.device) && !actor.spawn_external;
  });
}

}  // namespace

KeptTraining::KeptTraining() : state_(std::make_unique<State>()) {}
KeptTraining::~KeptTraining() = default;

std::optional<KeptTraining::Training> KeptTraining::take(const Dataset& data, NonFiniteLoss on_non_finite_loss) {
  std::optional<State::Kept> kept;
  {
    std::lock_guard lock(state_->mutex);
    kept = std::exchange(state_->kept, std::nullopt);
  }
  if (!kept || kept->on_non_finite_loss != on_non_finite_loss || !kept->data.same_batches(data) ||
      !kept->training.plan->can_run_again())
    return std::nullopt;
  return std::move(kept->training);
}

void KeptTraining::keep(const Dataset& data, NonFiniteLoss on_non_finite_loss, Training training) {
  if (!can_keep(*training.plan)) return;
  training.plan->on_over({});
  std::optional<State::Kept> kept(State::Kept{data, on_non_finite_loss, std::move(training)});
  std::lock_guard lock(state_->mutex);
  std::swap(state_->kept, kept);
}

}  // namespace troupe
