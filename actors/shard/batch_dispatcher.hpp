#pragma once

#include <cstdint>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// How the batches of an epoch are given to workers.
enum class Dispatch {
  parts,       ///< every worker gets its part of every batch, like the replicas of a Mirrored strategy
  first_free,  ///< a batch has the rows of the first such part, and goes whole to the next worker with room for it
  until_used,  ///< like first_free, and the epoch ends when no batch can be refused any more
};

/// Adds a dispatcher, which tells workers which samples to load: each sample of an epoch once. It dispatches the data
/// set that the spawn context has under the name `source`. A step is a batch. Worker w reads the output 2 w, the
/// indices of its samples, int32[B], and the output 2 w + 1, the batch info. If a batch info is refused, the batch goes
/// to another worker.
ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place);

}  // namespace troupe
