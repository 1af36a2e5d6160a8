#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "troupe/strategies/training/trainer.hpp"

namespace troupe::bench {

/// A training to measure.
struct TrainingFlags {
  std::string device = "cuda:0", model = "mlp", precision = "float32", grain = "fused";
  /// `device`: the images lie on the device, where a batch is gathered; `loader`: Fashion-MNIST as programs read it.
  std::string images = "device";
  std::string data;  ///< directory of Fashion-MNIST
  std::int64_t batch = 128;

  TrainingFlags();
  void declare(CLI::App& app);
};

/// A model in training by a strategy, to be timed.
class TimedTraining {
 public:
  /// `strategy` is one_device or mirrored, with one replica. An epoch has at least `epoch_steps` steps of whole batches
  /// where the images lie on the device, else as many as the data have.
  TimedTraining(const TrainingFlags& flags, const std::string& strategy, std::int64_t epoch_steps,
                std::shared_ptr<Trace> trace = nullptr);

  /// Seconds of a step: trains `steps` to be warm, then measures so many again, `intervals` times.
  std::vector<double> step_seconds(std::int64_t steps, int intervals);

  Trainer& trainer() { return *trainer_; }
  const Dataset& data() const { return data_; }

 private:
  Runtime runtime_;
  std::unique_ptr<Strategy> strategy_;
  Dataset data_;
  std::unique_ptr<Trainer> trainer_;
};

/// The strategy of that name with one replica on the device.
std::unique_ptr<Strategy> strategy_on(const std::string& device, const std::string& name);

}  // namespace troupe::bench
