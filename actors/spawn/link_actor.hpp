#pragma once

#include <caf/actor.hpp>
#include <memory>

#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/transport/link.hpp"

namespace troupe {

/// Spawns the proxy for all actors of another part of the plan: the consumer of the edges that lead there and the
/// producer of the edges that come from there. The proxy at the other end of the link does the reverse, so credits work
/// as between neighbors. A slot that was sent over the link is free only when the consumers in the other part have
/// returned it, and tensors that arrive lie in separate buffers, one for each slot.
caf::actor spawn_link_actor(caf::actor_system& system, const Wiring::Node& node, std::shared_ptr<Link> link);

}  // namespace troupe
