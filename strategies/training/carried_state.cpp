#include "troupe/strategies/training/carried_state.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/nn/sequence.hpp"

namespace troupe {

namespace {

[[noreturn]] void refuse_data(const PlanActor& actor, std::int64_t state_rows, const Dataset& data,
                              const std::string& problem) {
  std::string fields;
  for (const auto& field : data.fields()) fields += (fields.empty() ? "" : ", ") + to_string(field);
  throw Error("carried_state", "'" + actor.name + "' carries a state of " + std::to_string(state_rows) +
                                   " rows from batch to batch, but the data set of " + fields + " " + problem +
                                   "; Dataset::in_streams() makes batches that continue each other");
}

/// Returns the number of rows of the last batch of an epoch, over all processes. No batch has fewer.
std::int64_t rows_of_last_batch(const Dataset& data) {
  const auto& layout = data.layout();
  const auto batch_rows = data.batch_rows();
  if (!layout.whole()) return layout.share(layout.batches(batch_rows) - 1, batch_rows).batch_rows;
  return (data.rows() - 1) % batch_rows + 1;
}

}  // namespace

void check_carried_states(const Plan& plan, const Dataset& data) {
  for (const auto& actor : plan.actors) {
    if (!actor.task.call || !actor.task.call->attributes.has(kCarriedRows)) continue;
    const auto rows = actor.task.call->attributes.integer(kCarriedRows);
    if (data.is_shuffled()) refuse_data(actor, rows, data, "is shuffled");
    if (data.batch_rows() != rows)
      refuse_data(actor, rows, data, "has batches of " + std::to_string(data.batch_rows()) + " rows");
    if (const auto smallest = rows_of_last_batch(data); smallest != rows)
      refuse_data(actor, rows, data, "has a last batch of " + std::to_string(smallest) + " rows");
  }
}

}  // namespace troupe
