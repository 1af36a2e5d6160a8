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
      log_(replicas),
      plan_(runtime_, make_plan(spec, grain)) {}

Plan ActorStep::make_plan(const TrainingSpec& spec, Grain grain) {
  auto plan = strategy_->training_plan({spec, data_, 0, store_, {names::kLoss, names::kCorrect}, [this](int replica) {
                                          return log_.make_sink(replica);
                                        }});
  return grain == Grain::fused ? fuse(std::move(plan)) : split(std::move(plan));
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
