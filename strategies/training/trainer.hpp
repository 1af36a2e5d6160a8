#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/strategies/step/data_position.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/kept_training.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/single_user.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

class Cluster;
class Communicator;
class DeviceArrays;
class FitCheckpoints;
class Recording;
class Trace;
struct BatchSource;
struct EpochRows;
class ModelNames;
class SharedTraining;
struct PartSetup;

struct TrainerOptions {
  /// Seed of all random numbers: the initial values of parameters (unless `parameters` is set), the order of the data,
  /// and random ops such as dropout.
  std::uint64_t seed = 0;
  Grain grain = Grain::fused;
  /// The longest time in which an actor may complete no firing, which is one execution of its task; see
  /// WaitOptions::stall_limit. The time also limits every wait for another process.
  std::chrono::milliseconds stall_limit{60'000};
  /// False: every step is applied, even if its loss or a gradient is not finite, which may make parameters NaN.
  bool check_finite = true;
  /// If set, records every firing of an actor in a fit.
  std::shared_ptr<Trace> trace = nullptr;
  /// Runtimes with which this process runs the parts of all processes that the places of the strategy name: part 0 of a
  /// plan runs on the trainer's runtime, part i on other_parts[i - 1]. Each part has its own parameter store. Before a
  /// plan is spawned, all stores are set to the newest values in any of them. Without effect if `cluster` has other
  /// processes.
  std::vector<Runtime> other_parts = {};
  /// The processes of the job, which all run the same program; null: this process alone. Each process runs the actors
  /// whose places name its rank. All processes must make the same calls in the same order. Before a plan is spawned,
  /// the newest parameters and the position are copied to all processes except expendable ones, those of rank 0 if no
  /// process has newer ones; see Strategy::expendable().
  std::shared_ptr<Cluster> cluster = nullptr;
  /// The parameters to train, perhaps shared with other trainers. Null: the trainer makes a store, whose parameters are
  /// initialized by the seed.
  std::shared_ptr<ParameterStore> parameters = nullptr;
  /// The name under which the store keeps the position of this trainer: its number of steps, on which schedules and
  /// random numbers depend, and its place in the data. A trainer continues from the position of its name. Sums of
  /// accumulated gradients and the gradients that a hook keeps belong to the name, too; see Optimizer::of_trainer().
  /// Empty: the first trainer on the store is "trainer", the next ones, which begin at step 0, are "trainer_2" and so
  /// on. Two trainers that exist at the same time must have different names. A name has at most 512 bytes, none of them
  /// a control character, a quotation mark or a backslash.
  std::string name = {};
  /// Metrics that are reported besides the loss. If not set: the metrics that the loss provides.
  std::optional<std::vector<Metric>> metrics = {};
};

/// Trains a model by a strategy, which must outlive the trainer: every function that needs a destroyed strategy throws
/// Error. Not thread-safe, except parameter_arrays() and set_parameters(): fit(), start(), evaluate() and predict()
/// throw Error while another thread is in one of them. The store of shared_parameters() may outlive the trainer.
class Trainer {
 public:
  Trainer(const Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {});
  /// Deleted: the trainer keeps a reference to the strategy, so the strategy must not be a temporary object.
  Trainer(const Runtime& runtime, const Strategy&& strategy, Model model, Optimizer optimizer, Loss loss,
          TrainerOptions options = {}) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  /// Trains on the data for options.epochs epochs. Steps and epochs are numbered over all fits. If the previous fit was
  /// stopped within an epoch, this fit resumes that epoch at its next batch, provided that the data has the same
  /// samples, order, batch size and shard layout; otherwise it begins a new epoch. Throws Error if an option is out of
  /// range or there is no data. If a step fails, throws Error that names op, step and replica; the parameters are then
  /// those before the failed step, or broken: see ParameterStore::recover().
  FitResult fit(const Dataset& data, const FitOptions& options = {});
  /// Starts a fit and returns at once; see TrainingRun. The strategy and the trainer must outlive the run. Throws Error
  /// like fit(), and in an expendable process; see Strategy::expendable().
  std::unique_ptr<TrainingRun> start(const Dataset& data, const FitOptions& options = {});
  /// Trains on the batches of a user's actor; see BatchSource. The actor decides when an epoch ends. If the previous
  /// fit on a BatchSource with the same `most_rows` was stopped within an epoch, this fit resumes that epoch, and the
  /// actor gets the number of the next batch; otherwise the fit begins a new epoch. Throws Error like the other fit(),
  /// and in an expendable process.
  FitResult fit(const BatchSource& batches, const FitOptions& options = {});
  /// Starts a fit on the batches of a user's actor and returns at once; see TrainingRun. Throws Error like fit().
  std::unique_ptr<TrainingRun> start(const BatchSource& batches, const FitOptions& options = {});
  /// Returns the mean loss and the metrics over all rows of the data. If the data has no rows, the loss is 0 and there
  /// are no metrics. Throws Error if a loss is not finite, and InvalidSample, like fit(), if a sample cannot be used.
  Metrics evaluate(const Dataset& data);
  /// Returns the mean loss and the metrics over one epoch of the batches of a user's actor. Throws Error if a loss is
  /// not finite.
  Metrics evaluate(const BatchSource& batches);
  /// Returns an output of the model for all rows of the data, in order: a tensor [rows, ...] in host memory. `output`
  /// names the output; empty: the only one. The data needs only the fields that the model reads. Every call spawns a
  /// plan: to predict often, use a Predictor. In an expendable process all rows are zero. Throws Error if there is no
  /// such output, if `output` is empty and the model has several outputs, or if the output does not have one row per
  /// sample. Throws InvalidSample, like fit(), if a sample cannot be used.
  Tensor predict(const Dataset& data, const std::string& output = {});

  using Arrays = std::vector<std::pair<std::string, Tensor>>;
  /// Returns the parameters and the buffers, such as running statistics, by name, as copies in host memory. Empty
  /// before the first plan is spawned, and in an expendable process. After a fit, unless a process was lost or the
  /// fit was given up, every other process has the trained values, also if actors of one process alone have trained
  /// them. Optimizer state, whose names contain a slash, is left out; parameters() has it.
  Arrays parameter_arrays() const;
  /// Maps the name of a parameter in another model to its name in this model. Returns nothing for a parameter that is
  /// to be left out.
  using ParameterNames = std::function<std::optional<std::string>(const std::string& name)>;
  /// Sets the named parameters; the others keep their values. Values of parameters that no plan has yet become start
  /// values, whose names and shapes are checked when a plan is spawned. After the first fit or evaluation, throws Error
  /// if neither the model, in training or in evaluation, nor the store has a parameter of a name. Throws Error if a
  /// shape or dtype differs from that in the store. If it throws, none is set. A Predictor uses the old values of all
  /// parameters or the new values of all parameters.
  void set_parameters(const Arrays& arrays, const ParameterNames& name_of = {});

  /// Sets parameters, optimizer state and positions to those of the newest checkpoint in a folder, and returns true;
  /// returns false if the folder has none or does not exist. In a job of several processes all of them call it. Throws
  /// Error like read_newest_checkpoint() and restore().
  bool resume(const std::string& folder);

  /// Replaces parameters that a failed run has left broken by the newest whole copies in the stores of all parts; see
  /// TrainerOptions::other_parts. Throws Error if a broken parameter has no whole copy.
  void recover() { troupe::recover(stores_); }
  ParameterStore& parameters() { return *store_; }
  const ParameterStore& parameters() const { return *store_; }
  const std::shared_ptr<ParameterStore>& shared_parameters() const { return store_; }
  std::int64_t steps() const { return store_->position(*name_).step; }
  /// The name of the trainer in its store; see TrainerOptions::name.
  const std::string& name() const { return *name_; }
  const TrainingSpec& spec() const { return spec_; }
  const ModelNames& model_names() const { return *model_names_; }
  /// Throws Error if the strategy has been destroyed.
  const Strategy& strategy() const;

  /// Returns the plan of a fit on this data, in TrainerOptions::grain. Spawns no actors.
  Plan training_plan(const Dataset& data) const;

 private:
  void expect_strategy() const;
  std::unique_ptr<MetricsLog> make_log(const Dataset& data, int replicas) const;
  std::unique_ptr<MetricsLog> make_training_log(const Dataset& data) const;
  bool keeps_copies_equal(const Plan& plan) const;
  PlanRequest request(const Dataset& data, std::vector<std::string> sink_inputs,
                      const BatchSource* batches = nullptr) const;
  std::unique_ptr<TrainingRun> start(const Dataset& local_data, const BatchSource* batches, const FitOptions& options);
  Metrics evaluate(const Dataset& local_data, const BatchSource* batches);
  KeptTraining::Training spawn_training(const Dataset& data, const BatchSource* batches, const FitOptions& options,
                                        std::shared_ptr<Recording>& record);
  FitOptions guarded(FitOptions options);
  SpawnContext context_for(const Dataset& data, const TaskFactory& sink) const;
  std::unique_ptr<SpawnedPlan> spawn(Plan plan, SpawnContext context, std::shared_ptr<Trace> trace = nullptr,
                                     MetricsLog* log = nullptr, const std::vector<Place>& replicas = {},
                                     std::optional<std::uint64_t> generation = {});
  std::shared_ptr<FitCheckpoints> make_checkpoints(const FitOptions& options) const;
  TrainingHooks hooks(const FitOptions& options, const std::shared_ptr<Recording>& record);
  FitResult fit_as_expendable(const Dataset& data, const FitOptions& options);
  void run_to_end(SpawnedPlan& plan, const EpochRows& epoch, const std::function<void()>& on_interval) const;

  Runtime runtime_;
  const Strategy& strategy_;
  std::weak_ptr<const void> strategy_lifetime_;
  TrainingSpec spec_;
  TrainerOptions options_;
  std::shared_ptr<ParameterStore> store_;
  std::shared_ptr<const std::string> name_;
  Stores stores_;                                // stores of all parts; store_ is the first
  std::shared_ptr<DeviceArrays> device_arrays_;  // copies of data sets on devices, shared by all plans
  std::unique_ptr<SharedTraining> shared_;
  std::shared_ptr<KeptTraining> kept_;
  std::unique_ptr<ModelNames> model_names_;
  std::map<std::string, DataPosition> data_positions_;  // positions in the checkpoint that resume() has read
  SingleUser user_{"trainer"};
};

}  // namespace troupe
