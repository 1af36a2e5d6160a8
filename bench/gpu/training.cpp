#include "troupe/bench/gpu/training.hpp"

#include <chrono>

#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::unique_ptr<Strategy> strategy_on(const std::string& device, const std::string& name) {
  const auto places = parse_devices(device);
  if (places.size() != 1) throw Error("gpu_bench", "--device: one device is needed, not '" + device + "'");
  if (name == "one_device") return std::make_unique<OneDevice>(places.front());
  if (name == "mirrored") return std::make_unique<Mirrored>(places);
  throw Error("gpu_bench", "there is no strategy '" + name + "'");
}

TimedTraining::TimedTraining(const TrainingFlags& flags, const std::string& strategy, std::int64_t epoch_steps,
                             std::shared_ptr<Trace> trace)
    : runtime_({.cpu_devices = 1}),
      strategy_(strategy_on(flags.device, strategy)),
      case_(make_case(flags, epoch_steps)) {
  const auto& spec = case_.spec;
  TrainerOptions options{
      .seed = 1, .grain = parse_grain(flags.grain), .trace = std::move(trace), .metrics = spec.metrics};
  trainer_ = std::make_unique<Trainer>(runtime_, *strategy_, spec.model, spec.optimizer, spec.loss, options);
}

std::vector<double> TimedTraining::step_seconds(std::int64_t steps, int intervals) {
  std::vector<double> seconds;
  bool warm = false;
  auto begin = Clock::now();
  const auto note = [&](const Metrics& interval) {
    const auto now = Clock::now();
    const auto taken = std::chrono::duration<double>(now - begin).count();
    if (warm) seconds.push_back(taken / static_cast<double>(interval.steps));
    warm = true;
    begin = Clock::now();
  };
  trainer_->fit(case_.data, {.epochs = 1 << 30,
                             .max_steps = steps * (1 + static_cast<std::int64_t>(intervals)),
                             .pause_every = steps,
                             .on_pause = note,
                             .on_non_finite_loss = NonFiniteLoss::skip});
  return seconds;
}

}  // namespace troupe::bench
