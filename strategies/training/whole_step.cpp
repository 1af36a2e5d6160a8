#include "troupe/strategies/training/whole_step.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Adds the report of a replica to a step; `first`: the step has no values yet.
void add_part(StepMetrics& whole, const StepMetrics& part, bool first) {
  whole.loss += part.loss;
  whole.rows += part.rows;
  whole.batch_rows = part.batch_rows;
  whole.magnitude += part.magnitude;
  if (first) {
    whole.values = part.values;
    whole.loss_means = part.loss_means;
  } else {
    whole.values.add(part.values);
    whole.loss_means.add(part.loss_means);
  }
}

/// Throws Error unless the report `part` of a replica belongs to the step `whole`, which the replica
/// `first` has reported.
void expect_step(const StepMetrics& whole, const StepMetrics& part, int replica, int first) {
  if (part.step != whole.step)
    throw Error("metrics", "replica " + std::to_string(replica) + " reports step " + std::to_string(part.step) +
                               " where replica " + std::to_string(first) + " reports step " +
                               std::to_string(whole.step));
}

}  // namespace

void combine_parts(std::vector<StepQueue>& per_replica, std::span<const int> reporting, bool by_replica,
                   StepMetrics& whole) {
  const auto oldest = [&](int replica) -> const StepMetrics& {
    return per_replica[static_cast<std::size_t>(replica)][0];
  };
  const auto applied = [&](int replica) { return oldest(replica).rows > 0 && oldest(replica).finite(); };
  const bool in_part = by_replica && std::ranges::any_of(reporting, applied);
  whole = {.step = oldest(reporting.front()).step,
           .values = std::move(whole.values),
           .loss_means = std::move(whole.loss_means)};
  bool has_values = false;
  for (const auto replica : reporting) {
    const auto& part = oldest(replica);
    expect_step(whole, part, replica, reporting.front());
    const bool left_out = by_replica && part.batch_rows == 0;
    if (in_part ? applied(replica) : !left_out) add_part(whole, part, !std::exchange(has_values, true));
    per_replica[static_cast<std::size_t>(replica)].pop();
  }
  // A replica divides its loss by the rows of the whole batch.
  if (in_part) whole.loss *= static_cast<double>(whole.batch_rows) / static_cast<double>(whole.rows);
  divide_by_weights(whole);
}

void divide_by_weights(StepMetrics& step) {
  if (!step.loss_means.entries().empty() && std::isfinite(step.loss)) step.loss = step.loss_means.total_loss();
}

}  // namespace troupe
