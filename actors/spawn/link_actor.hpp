#pragma once

#include <caf/actor.hpp>
#include <memory>

#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// Spawns the stand-in for all actors of another part of the plan: a consumer of the edges that lead there and the
/// producer of those that come from there. Its counterpart at the other end of the link does the same the other way
/// round, so credits work as between neighbours: a slot that was sent over the link is free only when the consumers
/// over there have returned it, and what arrives lies in separate buffers, one per slot.
caf::actor spawn_link_actor(caf::actor_system& system, const Wiring::Node& node, std::shared_ptr<Link> link);

}  // namespace troupe
