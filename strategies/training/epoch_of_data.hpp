#pragma once

#include <cstdint>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/training/epoch_progress.hpp"

namespace troupe {

class Strategy;
struct TrainingSpec;

/// Returns the size of an epoch of a fit on the data by a strategy. `has_known_end` is false if a user's actor makes
/// the batches; the data then has no samples, and EpochRows::rows is kUnknown.
EpochRows epoch_of_data(const Dataset& data, bool has_known_end, const TrainingSpec& spec, const Strategy& strategy);

/// Returns the size of the epoch of an evaluation or a prediction, and its samples; see Strategy::forward_places().
EpochRows epoch_of_forward(const Dataset& data, bool has_known_end, std::uint64_t seed, const Strategy& strategy);

}  // namespace troupe
