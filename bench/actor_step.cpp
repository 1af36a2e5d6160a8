#include "troupe/bench/actor_step.hpp"

#include <chrono>

#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"

namespace troupe::bench {

namespace {

std::unique_ptr<Strategy> make_strategy(const Runtime& runtime, int replicas) {
  if (replicas == 1) return std::make_unique<OneDevice>(runtime.devices()[0]);
  return std::make_unique<Mirrored>(runtime.devices());
}

}  // namespace

ActorStep::ActorStep(const TrainingSpec& spec, const Dataset& data, int replicas, Grain grain, int workers)
    : data_(data),
      runtime_({.workers = workers, .cpu_devices = replicas}),
      strategy_(make_strategy(runtime_, replicas)),
      log_(replicas, spec, data.fields(), {.magnitude = true}),
      plan_(runtime_, in_grain(strategy_->training_plan({spec, data_, 0, log_.sink_inputs()}), grain), make_context()) {
}

SpawnContext ActorStep::make_context() {
  SpawnContext context;
  context.sources.emplace("data", data_);
  context.tasks.emplace("metrics", log_.sink(NonFiniteLoss::stop));
  return context;
}

double ActorStep::run(std::int64_t steps) {
  std::int64_t rows = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (auto left = steps; left > 0;) {
    plan_.start({step_, left, epoch_++});
    plan_.wait();
    for (const auto& step : log_.take()) {
      rows += step.rows;
      ++step_;
      --left;
    }
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return static_cast<double>(rows) / seconds;
}

}  // namespace troupe::bench
