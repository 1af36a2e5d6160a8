#pragma once

#include <memory>
#include <optional>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

class MetricsLog;
class SpawnedPlan;

/// The actors of a fit that has ended, kept for the next fit on the same data, which saves the time to plan and spawn
/// them. Thread-safe.
class KeptTraining {
 public:
  struct Training {
    std::shared_ptr<SpawnedPlan> plan;
    std::unique_ptr<MetricsLog> log;
  };

  KeptTraining();
  ~KeptTraining();

  /// Returns the training that was kept if it was made for the same data and option, and nothing has replaced its
  /// parameters. Otherwise destroys it and returns nothing.
  std::optional<Training> take(const Dataset& data, NonFiniteLoss on_non_finite_loss);
  /// Keeps a training, and destroys the one that was kept before. Destroys the training itself if its plan cannot run
  /// again, has actors of the user, or uses memory of a device other than the host, which others may need.
  void keep(const Dataset& data, NonFiniteLoss on_non_finite_loss, Training training);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
