#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <memory>

#include "troupe/actors/calls/variables.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// Spawns the stand-in of a worker in another process: passes the calls that it is sent on over the link, tells
/// `coordinator` what came of them, and answers what the worker asks about variables. When the link has ended it says
/// that the worker is lost, and goes.
caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables);

}  // namespace troupe
