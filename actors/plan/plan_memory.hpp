#pragma once

#include <cstddef>

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// What the tensors of a run of the plan will take, before it is spawned.
struct PlanMemory {
  std::size_t arenas = 0;      ///< inner values of segments
  std::size_t slots = 0;       ///< buffers of the edges between segments, shared ones included
  std::size_t staging = 0;     ///< copies of what crosses between the host and devices, or between devices
  std::size_t scratch = 0;     ///< of kernels
  std::size_t parameters = 0;  ///< with optimizer state, in the store, and constants
  std::size_t data = 0;        ///< fields of data sets that devices keep

  std::size_t total() const { return arenas + slots + staging + scratch + parameters + data; }
};

/// In bytes, for batches of Plan::max_rows. What external actors allocate is not known, so not counted.
PlanMemory memory_of(const Plan& plan);

}  // namespace troupe
