#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <memory>

#include "troupe/actors/calls/variables.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// Spawns the proxy of a worker in another process. It forwards calls over the link, sends the results to
/// `coordinator`, and answers the worker's reads of variables. When the link has ended it reports the worker as lost,
/// and ends.
caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables);

}  // namespace troupe
