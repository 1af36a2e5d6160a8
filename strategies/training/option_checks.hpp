#pragma once

#include <chrono>

namespace troupe {

struct FitOptions;

/// Throws Error unless the limit is at least 1 ms and so short that it can be added to times of the clock.
void check_stall_limit(std::chrono::milliseconds limit);

/// Throws Error if an option of a fit is out of range, or if two options exclude each other.
void check_fit_options(const FitOptions& options);

}  // namespace troupe
