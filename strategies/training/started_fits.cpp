// How a Trainer starts its fits.

#include <algorithm>
#include <set>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/checkpoint/fit_checkpoints.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/strategies/training/carried_state.hpp"
#include "troupe/strategies/training/epoch_of_data.hpp"
#include "troupe/strategies/training/fit_recordings.hpp"
#include "troupe/strategies/training/kept_training.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/model_names.hpp"
#include "troupe/strategies/training/model_parameters.hpp"
#include "troupe/strategies/training/option_checks.hpp"
#include "troupe/strategies/training/reporting_sinks.hpp"
#include "troupe/strategies/training/shared_training.hpp"
#include "troupe/strategies/training/start_values.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe {

namespace {

std::shared_ptr<const BatchSource> copy_of(const BatchSource* batches) {
  return batches == nullptr ? nullptr : std::make_shared<const BatchSource>(*batches);
}

}  // namespace

/// Whether a training plan keeps the copies of each parameter equal; see Strategy::equal_copies().
bool Trainer::keeps_copies_equal(const Plan& plan) const {
  if (const auto declared = strategy_.equal_copies()) return *declared;
  std::set<int> replicas;
  for (const auto& actor : plan.actors)
    for (const auto& held : actor.parameters)
      if (held.written) replicas.insert(held.ref.replica);
  return replicas.size() < 2;
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
  const auto checkpoints = make_checkpoints(options);
  if (batches != nullptr && batches->positions != nullptr) {
    const auto& source = batches->actor.name;
    if (const auto kept = data_positions_.extract(source)) batches->positions->add(kept.mapped());
    if (checkpoints) checkpoints->add_source(source, batches->positions, *name_);
  }
  const bool keeps = batches == nullptr && !shared_->has_others() && options.record.empty() && options.replay.empty();
  auto training = keeps ? kept_->take(data, options.on_non_finite_loss) : std::nullopt;
  std::shared_ptr<Recording> record;
  if (training) {
    const auto& planned = training->plan->plan().parameters;
    const auto of_model = note_model_order(stores_, planned, Purpose::training, spec_, data.fields());
    check_start_values(*store_, planned, of_model, *name_, model_names_->set_by_user());
    add_missing(stores_, of_model);
    shared_->agree_on_values();
    training->log->shard_log()->forget_staleness();
  } else {
    training = spawn_training(data, batches, options, record);
  }
  auto run_hooks = hooks(options, record);
  run_hooks.checkpoints = checkpoints;
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

/// Makes the object that writes the checkpoints of a fit, or null. Throws Error in all processes if rank 0 cannot use
/// the folder.
std::shared_ptr<FitCheckpoints> Trainer::make_checkpoints(const FitOptions& options) const {
  if (!options.checkpoints) return nullptr;
  std::shared_ptr<FitCheckpoints> checkpoints;
  std::string error;
  try {
    checkpoints = std::make_shared<FitCheckpoints>(*options.checkpoints, store_, steps(), shared_->is_rank_zero());
  } catch (const Error& refused) {
    error = refused.what();
  }
  error = shared_->first_error(error);
  if (!error.empty()) throw Error("trainer", "no checkpoints can be written: " + error);
  return checkpoints;
}

/// Plans a fit and spawns its actors. Sets `record` to the recording that the fit makes, if it makes one.
KeptTraining::Training Trainer::spawn_training(const Dataset& data, const BatchSource* batches,
                                               const FitOptions& options, std::shared_ptr<Recording>& record) {
  const DefaultFloatMode mode;
  model_names_->note(data.fields());
  auto log = make_training_log(data);
  auto plan = strategy_.training_plan(request(data, log->sink_inputs(), batches));
  check_carried_states(plan, data);
  expect_sinks(plan, PlanRequest::kSink, log->reporting());
  if (!options.record.empty() || !options.replay.empty()) shared_->agree_on_values();
  const auto recordings = recordings_for(options, plan, data, *store_, store_->position(*name_));
  record = recordings.record;
  plan = in_grain(std::move(plan), options_.grain);
  const auto of_model = note_model_order(stores_, plan.parameters, Purpose::training, spec_, data.fields());
  check_start_values(*store_, plan.parameters, of_model, *name_, model_names_->set_by_user());
  auto context = context_for(data, log->sink(options.on_non_finite_loss));
  context.equal_copies = keeps_copies_equal(plan);
  context.record = recordings.record;
  context.replay = recordings.replay;
  auto spawned = spawn(std::move(plan), std::move(context), options_.trace, log.get(), strategy_.places());
  add_missing(stores_, of_model);
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
  hooks.on_run_end = [shared = shared_.get(), record](SpawnedPlan& trained) { shared->end_run(trained, record.get()); };
  hooks.on_no_exchange = [shared = shared_.get()](SpawnedPlan& trained) { shared->end_without_exchange(trained); };
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
  const DefaultFloatMode mode;
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

}  // namespace troupe
