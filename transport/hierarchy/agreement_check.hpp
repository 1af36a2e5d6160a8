#pragma once

#include <memory>
#include <vector>

#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::hierarchy {

/// The collective that one rank has begun: its number and signature.
struct BegunCollective {
  std::int64_t number = 0;
  CallSignature signature;
};

/// Returns a stage that runs `stage`, which may be empty, and at the same time compares `begun` over the ranks of `on`:
/// ranks that have begun different collectives may wait for each other in different communicators, none of which can
/// find that out. `ranks` has the number in the hierarchy of each rank of `on`. The work of the stage throws Aborted
/// that names two ranks and their collectives if they differ. Returns `stage` if `on` is null.
BeginStage with_check(BeginStage stage, std::shared_ptr<Communicator> on, const BegunCollective& begun,
                      std::vector<int> ranks);

}  // namespace troupe::hierarchy
