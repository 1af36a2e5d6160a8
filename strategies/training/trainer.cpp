#include "troupe/strategies/training/trainer.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/strategies/checkpoint/checkpoint_reader.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/strategies/training/epoch_of_data.hpp"
#include "troupe/strategies/training/evaluation.hpp"
#include "troupe/strategies/training/kept_training.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/strategies/training/model_names.hpp"
#include "troupe/strategies/training/model_parameters.hpp"
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

Stores stores_of_parts(const std::shared_ptr<ParameterStore>& first, std::size_t others) {
  Stores stores{first};
  for (std::size_t i = 0; i < others; ++i) stores.push_back(std::make_shared<ParameterStore>(first->seed()));
  return stores;
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
      kept_(std::make_shared<KeptTraining>()),
      model_names_(std::make_unique<ModelNames>()) {
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
  context.tasks.emplace(PlanRequest::kSink, sink);
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
  model_names_->note_set(set_parameter_arrays(*store_, arrays, name_of, [this] { return model_names_->of(spec_); }));
}

bool Trainer::resume(const std::string& folder) {
  const auto use = user_.use();
  const auto checkpoint = read_newest_checkpoint(folder);
  if (!checkpoint) return false;
  for (const auto& store : stores_) restore(*checkpoint, *store);
  data_positions_ = checkpoint->data;
  return true;
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
  model_names_->note(data.fields());
  auto log = make_log(data, static_cast<int>(replicas.size()));
  auto plan = in_grain(strategy_.evaluation_plan(request(data, log->sink_inputs(), batches)), options_.grain);
  expect_sinks(plan, PlanRequest::kSink, log->reporting());
  const auto of_model = note_model_order(stores_, plan.parameters, Purpose::evaluation, spec_, data.fields());
  check_start_values(*store_, plan.parameters, of_model, *name_, model_names_->set_by_user());
  const auto spawned =
      spawn(std::move(plan), context_for(data, log->sink(NonFiniteLoss::stop)), nullptr, log.get(), replicas);
  add_missing(stores_, of_model);
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
  auto plan = in_grain(strategy_.prediction_plan(request(in_order, {predicted.graph_output()})), options_.grain);
  const auto of_model = note_model_order(stores_, plan.parameters, Purpose::evaluation, spec_, data.fields());
  check_values_for_prediction(*store_, plan.parameters, of_model, *name_, model_names_->set_by_user());
  const auto spawned = spawn(std::move(plan), context_for(in_order, predicted.sink()));
  add_missing(stores_, of_model);
  run_to_end(*spawned, epoch_of_forward(in_order, true, options_.seed, strategy_), {});
  if (const auto rows = shared_->sum(predicted.written()); rows != data.rows())
    throw Error("predict", "the plan of the strategy has predicted " + std::to_string(rows) + " of " +
                               std::to_string(data.rows()) + " rows");
  shared_->gather_rows(predicted.rows());
  return predicted.rows();
}

}  // namespace troupe
