#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// The number of steps by which the host may launch work ahead of a device.
inline constexpr std::int32_t kRunAhead = 4;

/// Raises the capacity of the edges between the host and the devices of one process to at least kRunAhead slots. A
/// device then does not wait for the host after every step: the host loads batches ahead, and reads results later.
/// These edges keep their capacity: edges with initial tokens, edges that carry an updated parameter, edges from or to
/// a collective, the conductor that begins it or an actor with its own firing rule, and edges that are also read in
/// another process. Changes nothing in a plan without devices.
void widen_for_run_ahead(Plan& plan);

}  // namespace troupe
