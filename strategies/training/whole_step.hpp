#pragma once

#include <span>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"
#include "troupe/strategies/training/step_order.hpp"

// Combines the metrics of a step that replicas report into the metrics of the whole step.

namespace troupe {

/// Removes the oldest report of every replica in `reporting` from its queue, and writes their combination to `whole`.
/// `by_replica`: replicas decide for themselves whether to apply their parts, see Strategy::decides_by_replica(); the
/// combination then has the applied parts alone, unless there is none. A report with no rows of the whole batch stands
/// for a part that was left out. Throws Error if the reports are of different steps.
void combine_parts(std::vector<StepQueue>& per_replica, std::span<const int> reporting, bool by_replica,
                   StepMetrics& whole);

/// Sets the loss of a whole step to the sum of its means if these divide by weights and the loss is finite.
void divide_by_weights(StepMetrics& step);

}  // namespace troupe
