#include "troupe/strategies/training/option_checks.hpp"

#include <algorithm>
#include <string>

#include "troupe/actors/plan/place.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/strategy.hpp"
#include "troupe/strategies/training/training_run.hpp"

namespace troupe {

void check_stall_limit(std::chrono::milliseconds limit) {
  constexpr std::chrono::hours kLongest{10'000};
  if (limit.count() < 1 || limit > kLongest)
    throw Error("trainer",
                "the stall limit must be from 1 ms to 10,000 hours, not " + std::to_string(limit.count()) + " ms");
}

void check_fit_options(const FitOptions& options, const Strategy& strategy) {
  if (options.epochs < 0) throw Error("trainer", "the number of epochs must not be negative");
  if (options.max_steps && *options.max_steps < 0) throw Error("trainer", "the number of steps must not be negative");
  if (options.pause_every && *options.pause_every < 1)
    throw Error("trainer", "a pause needs at least one step before it");
  if (options.checkpoints) check_checkpoints(*options.checkpoints);
  if (options.on_invalid_sample == InvalidSamples::skip &&
      (strategy.decides_by_replica() || !strategy.expendable().empty()))
    throw Error("trainer",
                "this strategy cannot leave out samples (FitOptions::on_invalid_sample): its replicas train apart, or "
                "its processes are expendable");
  const auto on_device =
      std::ranges::find_if_not(strategy.places(), [](const Place& place) { return is_host(place.device); });
  if (options.on_invalid_sample == InvalidSamples::skip && on_device != strategy.places().end())
    throw Error("trainer", "a fit on " + to_string(on_device->device) +
                               " cannot leave out samples (FitOptions::on_invalid_sample): a bad sample breaks the "
                               "parameters in the device's memory");
  if (options.on_invalid_sample == InvalidSamples::skip && !(options.record.empty() && options.replay.empty()))
    throw Error("trainer",
                "a fit that is recorded or replayed cannot leave out samples (FitOptions::on_invalid_sample)");
}

}  // namespace troupe
