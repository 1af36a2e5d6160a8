#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/bench/gpu/training_case.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe::bench {

/// A model that a strategy trains, to be timed.
class TimedTraining {
 public:
  /// `strategy` is one_device or mirrored, with one replica. Epochs are those of make_case().
  TimedTraining(const TrainingFlags& flags, const std::string& strategy, std::int64_t epoch_steps,
                std::shared_ptr<Trace> trace = nullptr);

  /// Trains `steps` steps to warm up, then measures that many steps `intervals` times. Returns the seconds of a step
  /// for each.
  std::vector<double> step_seconds(std::int64_t steps, int intervals);

  Trainer& trainer() { return *trainer_; }
  const Dataset& data() const { return case_.data; }

 private:
  Runtime runtime_;
  std::unique_ptr<Strategy> strategy_;
  TrainingCase case_;
  std::unique_ptr<Trainer> trainer_;
};

/// The strategy of that name, with one replica on the device.
std::unique_ptr<Strategy> strategy_on(const std::string& device, const std::string& name);

}  // namespace troupe::bench
