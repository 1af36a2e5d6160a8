#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/single_user.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

class Cluster;
class Communicator;
class DeviceArrays;
class Recording;
class Trace;
struct BatchSource;
class SharedTraining;
struct PartSetup;

struct TrainerOptions {
  /// Seed of everything random: start values, order of the data.
  std::uint64_t seed = 0;
  Grain grain = Grain::fused;
  /// See WaitOptions::stall_limit.
  std::chrono::milliseconds stall_limit{60'000};
  /// If given, records every firing.
  std::shared_ptr<Trace> trace = nullptr;
  /// Runtimes of the further parts of the plan, for a strategy whose places name several processes, all of which are in
  /// this process: part 1 on the first runtime, and so on. Each part has its own parameters, which are set to the
  /// newest values of any part before a run.
  std::vector<Runtime> other_parts = {};
  /// If given, the other processes of this job run the same program, and each has the part of every plan that its
  /// rank's places name. All processes make the same calls in the same order. Before each call the parameters and
  /// position of rank 0 are copied to all.
  std::shared_ptr<Cluster> cluster = nullptr;
  /// If given, training continues with these parameters, perhaps of another trainer, from their position. By default
  /// new ones are initialized by the seed.
  std::shared_ptr<ParameterStore> parameters = nullptr;
  /// Metrics that are reported beside the loss. Nothing: those that the loss provides.
  std::optional<std::vector<Metric>> metrics = {};
};

/// Trains a model by a strategy. Not thread-safe: a call throws Error while another thread is in one. A handle of the
/// trainer's parameters may outlive it.
class Trainer {
 public:
  Trainer(const Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {});
  /// Deleted: the trainer keeps a reference to the strategy.
  Trainer(const Runtime& runtime, const Strategy&& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {}) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  /// Trains on the data for some epochs. Steps and epochs are counted over all fits. A fit after one that was stopped
  /// in mid-epoch, by max_steps or stop_requested, resumes at the next batch of that epoch if the data has the same
  /// number of rows and the same batch size; otherwise a new epoch begins. Throws Error that names op, step and replica
  /// if a step fails. The parameters are those of the step before then, or broken: see ParameterStore::recover().
  FitResult fit(const Dataset& data, const FitOptions& options = {});
  /// Starts a fit and returns at once; see TrainingRun. Strategy, runtime and trainer must outlive it.
  std::unique_ptr<TrainingRun> start(const Dataset& data, const FitOptions& options = {});
  /// Trains on the batches of a user's actor; see BatchSource. An epoch ends when the actor ends it. A fit after one
  /// that was stopped in mid-epoch resumes at the next batch, whose number the actor gets.
  FitResult fit(const BatchSource& batches, const FitOptions& options = {});
  /// Starts such a fit and returns at once.
  std::unique_ptr<TrainingRun> start(const BatchSource& batches, const FitOptions& options = {});
  /// Mean loss and metrics over the data. Zeros if it has no rows.
  Metrics evaluate(const Dataset& data);
  /// Mean loss and metrics over one epoch of an actor's batches.
  Metrics evaluate(const BatchSource& batches);
  /// An output of the model, by name or the only one, for all rows in order: [N, ...]. Only the fields that the model
  /// reads are needed. Every call spawns a plan: to predict often, use a Predictor. In an expendable process all rows
  /// are zero.
  Tensor predict(const Dataset& data, const std::string& output = {});

  using Arrays = std::vector<std::pair<std::string, Tensor>>;
  /// Copies in host memory of the parameters and of buffers such as running statistics. Empty before the first plan.
  /// Optimizer state, whose names have a slash, is in parameters().
  Arrays parameter_arrays() const;
  /// Maps the name of a parameter in another model to its name in this one. Nothing: the parameter is left out.
  using ParameterNames = std::function<std::optional<std::string>(const std::string& name)>;
  /// Sets some or all parameters. Before the first plan they are start values, whose names and shapes are checked when
  /// the plan is made. Throws Error if the model has no parameter of a name; none is set then. Throws Error if a shape
  /// differs; the parameters before that one are set then.
  void set_parameters(const Arrays& arrays, const ParameterNames& name_of = {});

  /// Replaces the parameters that a run has left broken by the newest whole ones of any part. Throws Error if there are
  /// none.
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
  std::unique_ptr<TrainingRun> start(const Dataset& local_data, const BatchSource* batches, const FitOptions& options);
  Metrics evaluate(const Dataset& local_data, const BatchSource* batches);
  SpawnContext context_for(const Dataset& data, const TaskFactory& sink) const;
  std::unique_ptr<SpawnedPlan> spawn(Plan plan, SpawnContext context, std::shared_ptr<Trace> trace = nullptr,
                                     MetricsLog* log = nullptr, const std::vector<Place>& replicas = {},
                                     std::optional<std::uint64_t> generation = {});
  TrainingHooks hooks(const FitOptions& options, const std::shared_ptr<Recording>& record);
  FitResult fit_as_expendable(const Dataset& data, const FitOptions& options);
  void run_to_end(SpawnedPlan& plan, const std::function<void()>& on_interval) const;

  Runtime runtime_;
  const Strategy& strategy_;
  TrainingSpec spec_;
  TrainerOptions options_;
  std::shared_ptr<ParameterStore> store_;
  Stores stores_;                                // stores of all parts; store_ is the first
  std::shared_ptr<DeviceArrays> device_arrays_;  // shared by all plans
  std::unique_ptr<SharedTraining> shared_;
  SingleUser user_{"trainer"};
};

}  // namespace troupe
