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
  /// A batch has as many rows as the first part has with `parts`. The batch goes whole to the next worker with free
  /// slots. The epoch ends when all batches have been sent.
  first_free,
  /// Like first_free, but the epoch ends when all batch infos have been returned, so that no batch can be refused any
  /// more.
  until_used,
};

/// Adds a dispatcher, the source that sends workers the indices of the samples to load: each sample of an epoch once.
/// It dispatches the data set that the spawn context has under the name `source`; the plan's attributes have the sizes
/// of `data`. A step is a batch. Output 2 w carries the indices for worker w, int32[B], and output 2 w + 1 the batch
/// info. If worker w refuses a batch info, the worker counts as lost and, except with Dispatch::parts, the batch goes
/// to another worker.
ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place);

}  // namespace troupe
