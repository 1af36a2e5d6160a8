#include "troupe/strategies/training/evaluation.hpp"

#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/training/metrics_log.hpp"
#include "troupe/transport/timed_out.hpp"

namespace troupe {

void Evaluation::add_steps(std::chrono::milliseconds limit) {
  for (const auto& step : log_.take(limit)) sum_.add(step);
}

Metrics Evaluation::end(std::vector<int> absent, std::chrono::milliseconds limit, std::optional<std::int64_t> batches) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  log_.end_run(std::move(absent));
  add_steps();
  while (!log_.complete() && std::chrono::steady_clock::now() < deadline) add_steps(std::chrono::milliseconds(10));
  auto result = sum_.result();
  if (!log_.complete()) throw TimedOut("evaluate", log_.missing());
  if (batches && result.steps != *batches)
    throw Error("evaluate", "only " + std::to_string(result.steps) + " of " + std::to_string(*batches) +
                                " batches were reported" + (log_.missing().empty() ? "" : ": " + log_.missing()));
  return result;
}

}  // namespace troupe
