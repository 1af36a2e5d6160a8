#include "troupe/strategies/training/trainer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "troupe/actors/run/function_task.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max() / 2;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

struct Trainer::Fit {
  const FitOptions& options;
  MetricsLog& log;
  SpawnedPlan& plan;
  FitResult result;
  MetricsSum epoch;
};

Trainer::Trainer(Runtime& runtime, const Strategy& strategy, Model model, Optimizer optimizer, Loss loss,
                 TrainerOptions options)
    : runtime_(runtime),
      strategy_(strategy),
      spec_{std::move(model), std::move(loss), std::move(optimizer)},
      options_(std::move(options)),
      store_(options_.parameters ? options_.parameters : std::make_shared<ParameterStore>(options_.seed)) {}

PlanRequest Trainer::metrics_request(const Dataset& data, MetricsLog& log) {
  return {spec_, data, options_.seed, *store_, {names::kLoss, names::kCorrect}, [&log](int replica) {
            return log.make_sink(replica);
          }};
}

Plan Trainer::in_grain(Plan plan) const {
  return options_.grain == Grain::fused ? fuse(std::move(plan)) : split(std::move(plan));
}

Plan Trainer::training_plan(const Dataset& data) {
  MetricsLog log(strategy_.num_replicas_in_sync());
  return in_grain(strategy_.training_plan(metrics_request(data, log)));
}

void Trainer::report_steps(Fit& fit) {
  for (const auto& step : fit.log.take()) {
    fit.epoch.add(step);
    ++fit.result.steps;
    fit.result.rows += step.rows;
    next_step_ = step.step + 1;
    if (fit.options.on_step) fit.options.on_step(step);
  }
}

void Trainer::run_epoch(Fit& fit) {
  const auto left = fit.options.max_steps ? *fit.options.max_steps - fit.result.steps : kAllSteps;
  fit.epoch = {};
  const auto begin = Clock::now();
  fit.plan.start({next_step_, left, next_epoch_});
  WaitOptions wait;
  wait.stall_limit = options_.stall_limit;
  wait.on_interval = [&] {
    report_steps(fit);
    if (fit.result.stopped || !fit.options.stop_requested || !fit.options.stop_requested()) return;
    fit.result.stopped = true;
    fit.plan.stop();
  };
  fit.plan.wait(wait);
  const auto seconds = seconds_since(begin);
  fit.result.seconds += seconds;
  fit.result.epochs.push_back({next_epoch_++, fit.epoch.result(), seconds});
  if (fit.options.on_epoch) fit.options.on_epoch(fit.result.epochs.back());
}

FitResult Trainer::fit(const Dataset& data, const FitOptions& options) {
  if (options.epochs < 0) throw Error("trainer", "the number of epochs must not be negative");
  if (options.max_steps && *options.max_steps < 0) throw Error("trainer", "the number of steps must not be negative");
  if (data.rows() == 0) throw Error("trainer", "there is no data to train on");
  MetricsLog log(strategy_.num_replicas_in_sync());
  SpawnedPlan plan(runtime_, in_grain(strategy_.training_plan(metrics_request(data, log))), options_.trace);
  Fit fit{options, log, plan, {}, {}};
  for (std::int64_t epoch = 0; epoch < options.epochs && !fit.result.stopped; ++epoch) {
    if (options.max_steps && fit.result.steps >= *options.max_steps) break;
    run_epoch(fit);
  }
  return std::move(fit.result);
}

Metrics Trainer::evaluate(const Dataset& data) {
  MetricsLog log(strategy_.num_replicas_in_sync());
  SpawnedPlan plan(runtime_, in_grain(strategy_.evaluation_plan(metrics_request(data, log))));
  MetricsSum sum;
  plan.start({0, kAllSteps, 0});
  WaitOptions wait;
  wait.stall_limit = options_.stall_limit;
  wait.on_interval = [&] {
    for (const auto& step : log.take()) sum.add(step);
  };
  plan.wait(wait);
  return sum.result();
}

Tensor Trainer::predict(const Dataset& data) {
  const auto graph = forward_graph(spec_, data.feature_shape());
  const auto& scores = graph.info(graph.output(names::kScores));
  Tensor all(scores.shape.with_rows(data.rows()), scores.dtype);
  const auto row_bytes = static_cast<std::size_t>(scores.shape.row_elements()) * size_of(scores.dtype);
  // Replicas write disjoint rows, and evaluation keeps the order of the data.
  const auto make_sink = [&](int) {
    return function_task([all, row_bytes, batch = data.batch_rows()](const Firing& firing) {
      const auto info = firing.inputs[1].data<std::int64_t>();
      const auto row = static_cast<std::size_t>(info[3] * batch + info[2]);
      if (firing.inputs[0].bytes() > 0)
        std::memcpy(all.mutable_raw() + row * row_bytes, firing.inputs[0].raw(), firing.inputs[0].bytes());
    });
  };
  const auto in_order = data.shuffle(1);
  const PlanRequest request{spec_, in_order, options_.seed, *store_, {names::kScores}, make_sink};
  SpawnedPlan plan(runtime_, in_grain(strategy_.evaluation_plan(request)));
  plan.start({0, kAllSteps, 0});
  WaitOptions wait;
  wait.stall_limit = options_.stall_limit;
  plan.wait(wait);
  return all;
}

}  // namespace troupe
