#include "troupe/strategies/training/metrics.hpp"

#include <algorithm>

#include "troupe/actors/run/function_task.hpp"

namespace troupe {

void MetricsSum::add(const StepMetrics& step) {
  ++sum_.steps;
  sum_.rows += step.rows;
  sum_.loss += step.loss * static_cast<double>(step.rows);
  correct_ += step.correct;
}

Metrics MetricsSum::result() const {
  auto mean = sum_;
  if (mean.rows > 0) {
    mean.loss /= static_cast<double>(mean.rows);
    mean.accuracy = static_cast<double>(correct_) / static_cast<double>(mean.rows);
  }
  return mean;
}

TaskFactory MetricsLog::make_sink(int replica) {
  return function_task([parts = parts_, replica](const Firing& firing) {
    const StepMetrics part{firing.step, static_cast<double>(firing.inputs[0].item<float>()),
                           firing.inputs[1].item<std::int64_t>(), firing.inputs[2].data<std::int64_t>()[0]};
    std::lock_guard lock(parts->mutex);
    parts->per_replica[replica].push_back(part);
  });
}

std::vector<StepMetrics> MetricsLog::take() {
  std::lock_guard lock(parts_->mutex);
  auto& per_replica = parts_->per_replica;
  std::vector<StepMetrics> steps;
  while (std::none_of(per_replica.begin(), per_replica.end(), [](const auto& queue) { return queue.empty(); })) {
    StepMetrics whole{per_replica[0].front().step, 0.0, 0, 0};
    for (auto& queue : per_replica) {
      whole.loss += queue.front().loss;
      whole.correct += queue.front().correct;
      whole.rows += queue.front().rows;
      queue.pop_front();
    }
    steps.push_back(whole);
  }
  return steps;
}

}  // namespace troupe
