#pragma once

#include <cstddef>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// The bytes that the tensors of a run of the plan will take, in all processes and on all devices, predicted before the
/// plan is spawned.
struct PlanMemory {
  std::size_t arenas = 0;      ///< values that only actors of one segment read; segments of an executor share them
  std::size_t slots = 0;       ///< buffers of the edges between segments, shared ones included
  std::size_t staging = 0;     ///< copies of tensors for another device or the host, and areas for sums on devices
  std::size_t scratch = 0;     ///< scratch memory of kernels, which segments of an executor share
  std::size_t parameters = 0;  ///< parameters and optimizer state in the store, and constants
  std::size_t data = 0;        ///< fields of data sets that devices keep

  std::size_t total() const { return arenas + slots + staging + scratch + parameters + data; }
};

/// Predicts the memory of a plan that in_grain() has grouped into segments, for batches of Plan::max_rows rows. Memory
/// that external actors (ActorRole::external) or NCCL allocate is not known and does not count.
PlanMemory memory_of(const Plan& plan);

}  // namespace troupe
