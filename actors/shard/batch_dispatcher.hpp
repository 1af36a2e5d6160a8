#pragma once

#include <cstdint>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// How a dispatcher assigns the batches of an epoch to workers.
enum class Dispatch {
  /// Every worker gets its part of every batch, like the replicas of a Mirrored strategy.
  parts,
  /// A batch has as many rows as the part of the first worker has of the largest batch with `parts`. The whole batch
  /// goes to the next worker with free slots. The epoch ends when all batches have been sent.
  first_free,
  /// Like first_free, but the epoch ends when the consumers have taken all batches, which they show by the credits of
  /// the batch infos. Until then a consumer may refuse a batch, and the dispatcher sends it to another worker.
  until_used,
};

/// Adds a dispatcher, the source that sends workers the indices of the samples to load: each sample of an epoch once.
/// It dispatches the data set that the SpawnContext has under the name `source`. From `data` only the number of rows
/// and the batch size are read, for the attributes of the actor in the plan. A step is a batch. Output 2 w carries the
/// indices of B samples for worker w, int32 of shape [B], and output 2 w + 1 the BatchInfo. If a consumer refuses a
/// batch info for worker w, the worker counts as lost and, except with Dispatch::parts, the batch goes to another
/// worker.
ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place);

}  // namespace troupe
