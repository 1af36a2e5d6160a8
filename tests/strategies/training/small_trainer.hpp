#pragma once

#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

namespace troupe::testing {

/// cpu:0, cpu:1, ...
inline std::vector<Device> cpu_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::cpu, i});
  return devices;
}

/// A trainer of the small model.
inline Trainer small_trainer(Runtime& runtime, const Strategy& strategy, TrainerOptions options = {},
                             Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.5}) {
  return Trainer(runtime, strategy, small_spec().model, std::move(optimizer), SoftmaxCrossEntropy{},
                 std::move(options));
}

/// Fifty rows in batches of 16, the last of which has two.
inline const Dataset& data_of_50() {
  static const auto data = small_dataset(50).shuffle(50).batch(16);
  return data;
}

/// The result of a fit: the loss of every step, and the hash of the parameters.
struct Outcome {
  std::vector<double> losses;
  std::string hash;

  bool operator==(const Outcome&) const = default;
};

/// Fits a small trainer and checks that all replicas have the same parameters.
inline Outcome train(Runtime& runtime, const Strategy& strategy, const Dataset& data, Grain grain,
                     std::int64_t epochs = 2, Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.5}) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3, .grain = grain}, std::move(optimizer));
  Outcome outcome;
  trainer.fit(data,
              {.epochs = epochs, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  for (int replica = 1; replica < strategy.num_replicas_in_sync(); ++replica)
    CHECK(trainer.parameters().hash(replica) == outcome.hash);
  return outcome;
}

}  // namespace troupe::testing
