#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

struct TrainerOptions {
  /// Start values, order of the data: everything random follows from it.
  std::uint64_t seed = 0;
  Grain grain = Grain::fused;
  /// A run in which no actor fires for so long is given up, with a report.
  std::chrono::milliseconds stall_limit{60'000};
  /// If given, every firing is recorded.
  std::shared_ptr<Trace> trace = nullptr;
  /// If given, training goes on with these parameters, of another trainer perhaps; else new ones start by the seed.
  std::shared_ptr<ParameterStore> parameters = nullptr;
};

/// One epoch, at its end.
struct EpochMetrics {
  std::int64_t epoch = 0;
  Metrics training;
  double seconds = 0.0;  ///< of training alone
};

struct FitOptions {
  std::int64_t epochs = 1;
  /// Stop after so many steps of this fit.
  std::optional<std::int64_t> max_steps = {};
  /// Called on the thread of fit, in order, some time after the step.
  std::function<void(const StepMetrics&)> on_step;
  std::function<void(const EpochMetrics&)> on_epoch;
  /// Asked about ten times a second; true ends the fit at a step that is the same for all replicas.
  std::function<bool()> stop_requested;
};

/// What a fit did.
struct FitResult {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  double seconds = 0.0;  ///< of training alone
  bool stopped = false;  ///< by stop_requested
  std::vector<EpochMetrics> epochs;
};

/// Trains a model by a strategy. Not thread-safe.
class Trainer {
 public:
  Trainer(Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {});
  /// The trainer keeps a reference to the strategy.
  Trainer(Runtime& runtime, const Strategy&& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {}) = delete;

  /// Trains on the data for some epochs. Steps and epochs count on from the last fit. Throws Error that names op, step
  /// and replica if a step fails; the parameters then are those of the step before, or partly of the failed one.
  FitResult fit(const Dataset& data, const FitOptions& options = {});
  /// Mean loss and accuracy over the data.
  Metrics evaluate(const Dataset& data);
  /// The scores of all rows in order, [N, C].
  Tensor predict(const Dataset& data);

  ParameterStore& parameters() { return *store_; }
  const ParameterStore& parameters() const { return *store_; }
  const std::shared_ptr<ParameterStore>& shared_parameters() const { return store_; }
  std::int64_t steps() const { return next_step_; }

  /// The plan of a fit on this data, in the trainer's grain.
  Plan training_plan(const Dataset& data);

 private:
  struct Fit;
  PlanRequest metrics_request(const Dataset& data, MetricsLog& log);
  Plan in_grain(Plan plan) const;
  void run_epoch(Fit& fit);
  void report_steps(Fit& fit);

  Runtime& runtime_;
  const Strategy& strategy_;
  TrainingSpec spec_;
  TrainerOptions options_;
  std::shared_ptr<ParameterStore> store_;
  std::int64_t next_step_ = 0;
  std::int64_t next_epoch_ = 0;
};

}  // namespace troupe
