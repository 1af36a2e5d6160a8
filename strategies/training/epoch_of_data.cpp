#include "troupe/strategies/training/epoch_of_data.hpp"

#include <algorithm>
#include <string>

#include "troupe/ops/core/hash.hpp"
#include "troupe/strategies/step/training_graph.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe {

namespace {

/// Returns a number that tells the batches of one data set from those of another: a hash of the samples, their order
/// and the batch size. If every process has samples of its own, the hash is of the form of the data, which is equal in
/// all processes. Never 0.
std::int64_t identity_of(const Dataset& data, std::uint64_t seed) {
  auto text = "seed " + std::to_string(seed) + "\n";
  if (data.layout().whole()) text += data.content();
  for (const auto& field : data.fields()) text += to_string(field) + "\n";
  return static_cast<std::int64_t>(hash_of_text(text) | 1U);
}

/// Returns the function that finds the rows of the data set in batches of which each of `parts` replicas gets a part.
EpochRows::SampleAt samples_of(const Dataset& data, std::uint64_t seed, int parts) {
  return [data, seed, parts](const TrainingPosition& at, int replica, std::int64_t row) {
    const auto first = at.batch * at.batch_rows;
    const auto part = part_of_batch(std::min(at.batch_rows, data.rows() - first), parts, parts == 1 ? 0 : replica);
    if (row < 0 || row >= part.rows) return InvalidSample::kUnknown;
    return data.row_of(data.sample_order(seed, at.epoch).at(first + part.first + row));
  };
}

}  // namespace

EpochRows epoch_of_data(const Dataset& data, bool has_known_end, const TrainingSpec& spec, const Strategy& strategy) {
  const auto all_rows = data.layout().whole() ? data.rows() : data.batches() * data.batch_rows();
  const auto batch_rows = has_known_end ? data.largest_batch() : data.batch_rows();
  EpochRows rows{has_known_end ? all_rows : EpochRows::kUnknown, strategy.step_rows(batch_rows), data.layout().hash()};
  rows.identity = [data, seed = spec.seed] { return identity_of(data, seed); };
  rows.shares_steps = strategy.shares_steps();
  rows.decides_by_replica = strategy.decides_by_replica();
  rows.steps_per_update = strategy.steps_per_update();
  rows.has_own_samples = !data.layout().whole();
  rows.steps_of_update = spec.optimizer.accumulated_steps();
  if (has_known_end && data.layout().whole())
    rows.sample_at = samples_of(data, spec.seed, rows.shares_steps ? strategy.num_replicas_in_sync() : 1);
  return rows;
}

EpochRows epoch_of_forward(const Dataset& data, bool has_known_end, std::uint64_t seed, const Strategy& strategy) {
  EpochRows rows{has_known_end ? data.rows() : EpochRows::kUnknown, data.batch_rows(), data.layout().hash()};
  rows.has_own_samples = !data.layout().whole();
  if (has_known_end && data.layout().whole())
    rows.sample_at = samples_of(data, seed, static_cast<int>(strategy.forward_places().size()));
  return rows;
}

}  // namespace troupe
