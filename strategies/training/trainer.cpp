#include "troupe/strategies/training/trainer.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/strategies/training/carried_state.hpp"
#include "troupe/strategies/training/epoch_of_data.hpp"
#include "troupe/strategies/training/evaluation.hpp"
#include "troupe/strategies/training/fit_recordings.hpp"
#include "troupe/strategies/training/kept_training.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/option_checks.hpp"
#include "troupe/strategies/training/parameter_arrays.hpp"
#include "troupe/strategies/training/predicted_rows.hpp"
#include "troupe/strategies/training/reporting_sinks.hpp"
#include "troupe/strategies/training/shared_training.hpp"
#include "troupe/strategies/training/skipped_sample.hpp"
#include "troupe/strategies/training/start_values.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

namespace {

/// The kind of the sinks' tasks; the default of PlanRequest::sink.
constexpr const char* kSinkKind = "metrics";

Stores stores_of_parts(const std::shared_ptr<ParameterStore>& first, std::size_t others) {
  Stores stores{first};
  for (std::size_t i = 0; i < others; ++i) stores.push_back(std::make_shared<ParameterStore>(first->seed()));
  return stores;
}

std::shared_ptr<const BatchSource> copy_of(const BatchSource* batches) {
  return batches == nullptr ? nullptr : std::make_shared<const BatchSource>(*batches);
}

}  // namespace

Trainer::Trainer(const Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
                 TrainerOptions options)
    : runtime_(runtime),
      strategy_(strategy),
      strategy_lifetime_(strategy.lifetime()),
      spec_{std::move(model), std::move(loss), std::move(optimizer),
            options.metrics,  options.seed,    options.check_finite},
      options_(std::move(options)),
      store_(options_.parameters ? options_.parameters : std::make_shared<ParameterStore>(options_.seed)),
      name_(store_->enter_trainer(options_.name)),
      stores_(stores_of_parts(store_, options_.other_parts.size())),
      device_arrays_(std::make_shared<DeviceArrays>()),
      shared_(std::make_unique<SharedTraining>(options_.cluster, strategy, stores_, options_.stall_limit)),
      kept_(std::make_shared<KeptTraining>()) {
  check_stall_limit(options_.stall_limit);
  if (*name_ == ParameterStore::kTrainer) return;
  spec_.trainer = *name_;
  spec_.optimizer = spec_.optimizer.of_trainer(*name_);
}

Trainer::~Trainer() = default;

/// Throws Error if the strategy no longer exists.
void Trainer::expect_strategy() const {
  if (strategy_lifetime_.expired())
    throw Error("trainer", "its strategy has been destroyed: the strategy must outlive the trainer");
}

const Strategy& Trainer::strategy() const {
  expect_strategy();
  return strategy_;
}

std::unique_ptr<MetricsLog> Trainer::make_log(const Dataset& data, int replicas) const {
  return std::make_unique<MetricsLog>(replicas, spec_, data.fields());
}

std::unique_ptr<MetricsLog> Trainer::make_training_log(const Dataset& data) const {
  const ReportForm form{.shared_steps = strategy_.shares_steps(),
                        .by_replica = strategy_.decides_by_replica(),
                        .magnitude = true,
                        .reporting = strategy_.reporting_replicas()};
  return std::make_unique<MetricsLog>(strategy_.num_replicas_in_sync(), spec_, data.fields(), form);
}

/// Whether a training plan keeps the copies of each parameter equal; see Strategy::equal_copies().
bool Trainer::keeps_copies_equal(const Plan& plan) const {
  if (const auto declared = strategy_.equal_copies()) return *declared;
  std::set<int> replicas;
  for (const auto& actor : plan.actors)
    for (const auto& held : actor.parameters)
      if (held.written) replicas.insert(held.ref.replica);
  return replicas.size() < 2;
}

PlanRequest Trainer::request(const Dataset& data, std::vector<std::string> sink_inputs,
                             const BatchSource* batches) const {
  PlanRequest request{spec_, data, options_.seed, std::move(sink_inputs)};
  request.batches = batches;
  return request;
}

SpawnContext Trainer::context_for(const Dataset& data, const TaskFactory& sink) const {
  SpawnContext context;
  context.store = store_;
  context.sources.emplace("data", data);
  context.device_arrays = device_arrays_;
  context.tasks.emplace(kSinkKind, sink);
  if (strategy_.equal_copies().value_or(false)) context.equal_copies = true;
  return context;
}

std::unique_ptr<SpawnedPlan> Trainer::spawn(Plan plan, SpawnContext context, std::shared_ptr<Trace> trace,
                                            MetricsLog* log, const std::vector<Place>& replicas,
                                            std::optional<std::uint64_t> generation) {
  if (log != nullptr) context.shard_log = log->shard_log();
  shared_->agree_on_values();
  if (shared_->has_others()) {
    const auto& cluster = shared_->cluster();
    auto spawned = std::make_unique<SpawnedPlan>(PartSetup{runtime_, std::move(context)}, std::move(plan), cluster,
                                                 std::move(trace), generation);
    shared_->add_missing_parameters(spawned->plan());
    if (log == nullptr) return spawned;
    std::vector<bool> here;
    for (const auto& place : replicas) here.push_back(place.process == cluster->rank());
    log->exchange_with(std::make_unique<MetricsExchange>(*cluster, spawned->generation()), std::move(here));
    return spawned;
  }
  std::vector<PartSetup> parts{{runtime_, context}};
  for (std::size_t i = 1; i < stores_.size(); ++i) {
    context.store = stores_[i];
    parts.push_back({options_.other_parts[i - 1], context});
  }
  auto spawned = std::make_unique<SpawnedPlan>(std::move(parts), std::move(plan), std::move(trace));
  shared_->add_missing_parameters(spawned->plan());
  return spawned;
}

Plan Trainer::training_plan(const Dataset& data) const {
  const DefaultFloatMode mode;
  expect_strategy();
  return in_grain(strategy_.training_plan(request(data, make_training_log(data)->sink_inputs())), options_.grain);
}

std::unique_ptr<TrainingRun> Trainer::start(const Dataset& data, const FitOptions& options) {
  if (data.rows() == 0 && !shared_->has_others()) throw Error("trainer", "there is no data to train on");
  return start(data, nullptr, options);
}

std::unique_ptr<TrainingRun> Trainer::start(const BatchSource& batches, const FitOptions& options) {
  return start(batches.description(), &batches, options);
}

std::unique_ptr<TrainingRun> Trainer::start(const Dataset& local_data, const BatchSource* batches,
                                            const FitOptions& options) {
  const auto use = user_.use();
  expect_strategy();
  check_fit_options(options, strategy_);
  if (shared_->is_expendable()) throw Error("trainer", "an expendable process trains by fit()");
  const auto data = batches == nullptr ? shared_->share(local_data) : local_data;
  if (batches == nullptr && data.batches() == 0) throw Error("trainer", "there is no data to train on");
  const bool keeps = batches == nullptr && !shared_->has_others() && options.record.empty() && options.replay.empty();
  auto training = keeps ? kept_->take(data, options.on_non_finite_loss) : std::nullopt;
  std::shared_ptr<Recording> record;
  if (training) {
    check_start_values(*store_, training->plan->plan());
    shared_->agree_on_values();
    training->log->shard_log()->forget_staleness();
  } else {
    training = spawn_training(data, batches, options, record);
  }
  auto run_hooks = hooks(options, record);
  if (keeps)
    run_hooks.on_release = [kept = kept_, data, policy = options.on_non_finite_loss](KeptTraining::Training used) {
      kept->keep(data, policy, std::move(used));
    };
  run_hooks.respawn = [this, data, batches = copy_of(batches), options] {
    std::shared_ptr<Recording> none;
    return spawn_training(data, batches.get(), options, none);
  };
  const TrainingProgress progress{store_, *name_, shared_->stores_by_process()};
  return std::make_unique<TrainingRun>(std::move(*training), epoch_of_data(data, batches == nullptr, spec_, strategy_),
                                       guarded(options), progress, options_.stall_limit, std::move(run_hooks));
}

/// Plans a fit and spawns its actors. Sets `record` to the recording that the fit makes, if it makes one.
KeptTraining::Training Trainer::spawn_training(const Dataset& data, const BatchSource* batches,
                                               const FitOptions& options, std::shared_ptr<Recording>& record) {
  const DefaultFloatMode mode;
  auto log = make_training_log(data);
  auto plan = strategy_.training_plan(request(data, log->sink_inputs(), batches));
  check_carried_states(plan, data);
  expect_sinks(plan, kSinkKind, log->reporting());
  if (!options.record.empty() || !options.replay.empty()) shared_->agree_on_values();
  const auto recordings = recordings_for(options, plan, data, *store_, store_->position(*name_).step);
  record = recordings.record;
  plan = in_grain(std::move(plan), options_.grain);
  check_start_values(*store_, plan);
  auto context = context_for(data, log->sink(options.on_non_finite_loss));
  context.equal_copies = keeps_copies_equal(plan);
  context.record = recordings.record;
  context.replay = recordings.replay;
  auto spawned = spawn(std::move(plan), std::move(context), options_.trace, log.get(), strategy_.places());
  if (shared_->has_others())
    shared_->announce({.generation = spawned->generation(),
                       .plan_hash = hash_of(spawned->plan()),
                       .data_hash = hash_of_text(data.content())});
  return {std::move(spawned), std::move(log)};
}

/// Returns the options with an on_step that closes the trainer while it runs.
FitOptions Trainer::guarded(FitOptions options) {
  if (options.on_step)
    options.on_step = [this, on_step = std::move(options.on_step)](const StepMetrics& step) {
      const auto closed = user_.close("cannot be used in on_step, while it trains; use on_epoch");
      on_step(step);
    };
  return options;
}

TrainingHooks Trainer::hooks(const FitOptions& options, const std::shared_ptr<Recording>& record) {
  TrainingHooks hooks;
  hooks.on_run_end = [shared = shared_.get(), record](const Plan& trained) { shared->end_run(trained, record.get()); };
  hooks.agree_on_error = [shared = shared_.get()](const std::string& error) { return shared->first_error(error); };
  hooks.on_boundary = [shared = shared_.get()] { shared->agree_on_values(); };
  hooks.on_over = [shared = shared_.get(), record, file = options.record](const FitResult& result, bool succeeded) {
    JobStatus status{.kind = JobStatus::Kind::trained, .steps = result.steps, .rows = result.rows};
    status.seconds = result.seconds;
    status.stopped = result.stopped;
    shared->announce(status);
    if (record && succeeded && shared->is_rank_zero()) record->save(file);
  };
  return hooks;
}

/// fit() in an expendable process; see Strategy::expendable(). If fit() throws here, the fit goes on in the other
/// processes.
FitResult Trainer::fit_as_expendable(const Dataset& data, const FitOptions& options) {
  const auto status = shared_->receive(JobStatus::Kind::training, options.stop_requested);
  auto log = make_training_log(data);
  auto plan = in_grain(strategy_.training_plan(request(data, log->sink_inputs())), options_.grain);
  if (hash_of(plan) != status.plan_hash)
    throw Error("trainer",
                "the plan differs from that of rank 0: another model, optimizer, seed, batch size, grain or strategy");
  if (hash_of_text(data.content()) != status.data_hash)
    throw Error("trainer", "the training data differ from those of rank 0");
  auto context = context_for(data, log->sink(options.on_non_finite_loss));
  const auto spawned =
      spawn(std::move(plan), std::move(context), options_.trace, log.get(), strategy_.places(), status.generation);
  return shared_->take_part(*spawned, *log, options.stop_requested);
}

FitResult Trainer::fit(const Dataset& data, const FitOptions& options) {
  const auto use = user_.use();
  expect_strategy();
  check_fit_options(options, strategy_);
  if (shared_->is_expendable()) return fit_as_expendable(data, options);
  return start(data, options)->wait();
}

FitResult Trainer::fit(const BatchSource& batches, const FitOptions& options) {
  const auto use = user_.use();
  return start(batches, options)->wait();
}

void Trainer::run_to_end(SpawnedPlan& plan, const EpochRows& epoch, const std::function<void()>& on_interval) const {
  plan.start({.max_steps = kLastStep});
  try {
    plan.wait({.stall_limit = options_.stall_limit, .on_interval = on_interval});
  } catch (const Error&) {
    expect_valid_samples(plan.failure(), epoch);
    throw;
  }
}

Trainer::Arrays Trainer::parameter_arrays() const {
  return troupe::parameter_arrays(*store_);
}

void Trainer::set_parameters(const Arrays& arrays, const ParameterNames& name_of) {
  set_parameter_arrays(*store_, arrays, name_of);
}

Metrics Trainer::evaluate(const Dataset& data) {
  return evaluate(data, nullptr);
}

Metrics Trainer::evaluate(const BatchSource& batches) {
  return evaluate(batches.description(), &batches);
}

Metrics Trainer::evaluate(const Dataset& local_data, const BatchSource* batches) {
  const DefaultFloatMode mode;
  const auto use = user_.use();
  expect_strategy();
  if (shared_->is_expendable()) return shared_->receive(JobStatus::Kind::evaluated).metrics;
  const auto data = batches == nullptr ? shared_->share(local_data) : local_data;
  const auto replicas = strategy_.forward_places();
  auto log = make_log(data, static_cast<int>(replicas.size()));
  auto plan = in_grain(strategy_.evaluation_plan(request(data, log->sink_inputs(), batches)), options_.grain);
  expect_sinks(plan, kSinkKind, log->reporting());
  check_start_values(*store_, plan);
  const auto spawned =
      spawn(std::move(plan), context_for(data, log->sink(NonFiniteLoss::stop)), nullptr, log.get(), replicas);
  Evaluation evaluation(*log);
  run_to_end(*spawned, epoch_of_forward(data, batches == nullptr, options_.seed, strategy_),
             [&] { evaluation.add_steps(); });
  const auto absent = strategy_.expendable();
  Metrics result;
  shared_->await_others([&] {
    result = evaluation.end({absent.begin(), absent.end()}, options_.stall_limit,
                            batches == nullptr ? std::optional(data.batches()) : std::nullopt);
  });
  shared_->announce({.kind = JobStatus::Kind::evaluated, .metrics = result});
  return result;
}

Tensor Trainer::predict(const Dataset& data, const std::string& output) {
  const DefaultFloatMode mode;
  const auto use = user_.use();
  expect_strategy();
  const PredictedRows predicted(spec_, data, output);
  if (shared_->is_expendable()) return predicted.rows();
  const auto in_order = shared_->share(data.in_order());
  if (!in_order.layout().whole())
    throw Error("predict", "every process needs all rows; predict shards with a trainer of their own");
  const auto plan =
      spawn(in_grain(strategy_.prediction_plan(request(in_order, {predicted.graph_output()})), options_.grain),
            context_for(in_order, predicted.sink()));
  run_to_end(*plan, epoch_of_forward(in_order, true, options_.seed, strategy_), {});
  if (const auto rows = shared_->sum(predicted.written()); rows != data.rows())
    throw Error("predict", "the plan of the strategy has predicted " + std::to_string(rows) + " of " +
                               std::to_string(data.rows()) + " rows");
  shared_->gather_rows(predicted.rows());
  return predicted.rows();
}

}  // namespace troupe
