#pragma once

#include <chrono>

namespace troupe {

struct FitOptions;
class Strategy;

/// Throws Error unless the limit is at least 1 ms and so short that it can be added to times of the clock.
void check_stall_limit(std::chrono::milliseconds limit);

/// Throws Error if an option of a fit is out of range, or if it excludes another one or the strategy.
void check_fit_options(const FitOptions& options, const Strategy& strategy);

}  // namespace troupe
