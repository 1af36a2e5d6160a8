#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/store/store_parts.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/fit_recordings.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/single_user.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

class Cluster;
class Communicator;
class DeviceArrays;
class Trace;
struct BatchSource;
class SharedTraining;
struct PartSetup;

struct TrainerOptions {
  /// Start values, order of the data: everything random follows from it.
  std::uint64_t seed = 0;
  Grain grain = Grain::fused;
  /// See WaitOptions::stall_limit.
  std::chrono::milliseconds stall_limit{60'000};
  /// If given, every firing is recorded.
  std::shared_ptr<Trace> trace = nullptr;
  /// Runtimes of the further parts of the plan, for a strategy whose places name several processes: part 1 on the
  /// first, and so on, all in this process. Each has its own parameters, which are brought to the newest values of any
  /// part before a run.
  std::vector<Runtime> other_parts = {};
  /// If given, the other processes of this job run the same program, and each has the part of every plan that its
  /// rank's places name. All processes make the same calls in the same order; before each the chief's parameters and
  /// position are brought to all.
  std::shared_ptr<Cluster> cluster = nullptr;
  /// If given, training continues with these parameters, perhaps of another trainer, from their position; else new ones
  /// are initialised by the seed.
  std::shared_ptr<ParameterStore> parameters = nullptr;
  /// Reported beside the loss. If empty: the metrics that the loss provides.
  std::optional<std::vector<Metric>> metrics = {};
};

/// Trains a model by a strategy. Not thread-safe: a call while another thread is in one throws Error. A handle of the
/// trainer's parameters may outlive it.
class Trainer {
 public:
  Trainer(const Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {});
  /// Refused: the trainer keeps a reference to the strategy.
  Trainer(const Runtime& runtime, const Strategy&& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {}) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  /// Trains on the data for some epochs. Steps and epochs are counted over all fits; one that was stopped in
  /// mid-epoch, by max_steps or stop_requested, resumes at the next batch of that epoch, if the data has as many rows
  /// and as large batches as there; else a new epoch begins. Throws Error that names op, step and replica if a step
  /// fails; the parameters then are those of the step before, or broken: see ParameterStore::recover.
  FitResult fit(const Dataset& data, const FitOptions& options = {});
  /// Starts a fit and returns at once; see TrainingRun for how it continues. Strategy, runtime and trainer must outlive
  /// it.
  std::unique_ptr<TrainingRun> start(const Dataset& data, const FitOptions& options = {});
  /// As above, on the batches of an actor of one's own (batch_source.hpp). An epoch ends when the actor says so. A fit
  /// that stopped in mid-epoch resumes at the next batch: the actor is told which.
  FitResult fit(const BatchSource& batches, const FitOptions& options = {});
  std::unique_ptr<TrainingRun> start(const BatchSource& batches, const FitOptions& options = {});
  /// Mean loss and metrics over the data; zeros if it has no rows.
  Metrics evaluate(const Dataset& data);
  /// The same over one epoch of an actor's batches.
  Metrics evaluate(const BatchSource& batches);
  /// An output of the model, by name or the only one, for all rows in order, [N, ...]. Only the fields that the model
  /// reads are needed. Spawns a plan for each call; to predict often, make a Predictor. In a process that the strategy
  /// can do without all rows are zero.
  Tensor predict(const Dataset& data, const std::string& output = {});

  using Arrays = std::vector<std::pair<std::string, Tensor>>;
  /// What the model keeps: its parameters, and buffers such as running statistics, as copies in host memory. Nothing
  /// before the first plan. (Optimizer state, whose names have a slash, is in parameters().)
  Arrays parameter_arrays() const;
  /// What a parameter of another model is called in this one; nothing: it is left out.
  using ParameterNames = std::function<std::optional<std::string>(const std::string& name)>;
  /// Sets some or all parameters. Before the first plan they are start values, whose names and shapes are checked when
  /// it is made. Throws Error if the model has no such parameter, or one of another shape; nothing is set then but
  /// those before the one of another shape.
  void set_parameters(const Arrays& arrays, const ParameterNames& name_of = {});

  /// After a run that has left parameters broken: goes on from the newest whole ones of any part. Throws Error if there
  /// are none.
  void recover() { troupe::recover(stores_); }
  ParameterStore& parameters() { return *store_; }
  const ParameterStore& parameters() const { return *store_; }
  const std::shared_ptr<ParameterStore>& shared_parameters() const { return store_; }
  std::int64_t steps() const { return store_->position().step; }
  const TrainingSpec& spec() const { return spec_; }
  const Strategy& strategy() const { return strategy_; }

  /// The plan of a fit on this data, in the trainer's grain.
  Plan training_plan(const Dataset& data) const;

 private:
  std::unique_ptr<MetricsLog> make_log(const Dataset& data, const std::vector<Place>& replicas,
                                       bool shared_steps = true) const;
  PlanRequest request(const Dataset& data, std::vector<std::string> sink_inputs,
                      const BatchSource* batches = nullptr) const;
  std::unique_ptr<TrainingRun> start(const Dataset& own_data, const BatchSource* batches, const FitOptions& options);
  Metrics evaluate(const Dataset& own_data, const BatchSource* batches);
  std::unique_ptr<SpawnedPlan> spawn(Plan plan, const Dataset& data, const TaskFactory& sink,
                                     std::shared_ptr<Trace> trace = nullptr, MetricsLog* log = nullptr,
                                     const std::vector<Place>& replicas = {},
                                     std::optional<std::uint64_t> generation = {},
                                     const FitRecordings& recordings = {});
  TrainingHooks hooks(const FitOptions& options, const FitRecordings& recordings);
  FitResult take_part(const Dataset& data, const FitOptions& options);
  void run_to_end(SpawnedPlan& plan, const std::function<void()>& on_interval) const;

  Runtime runtime_;
  const Strategy& strategy_;
  TrainingSpec spec_;
  TrainerOptions options_;
  std::shared_ptr<ParameterStore> store_;
  Stores stores_;                                // of all parts; store_ is the first
  std::shared_ptr<DeviceArrays> device_arrays_;  // that all plans share
  std::unique_ptr<SharedTraining> others_;
  SingleUser user_{"trainer"};
};

}  // namespace troupe
