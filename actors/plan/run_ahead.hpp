#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// The number of steps by which the host may launch work ahead of a device.
inline constexpr std::int32_t kRunAhead = 4;

/// Gives the edges between the host and devices of the same process at least kRunAhead buffers, so that a device need
/// not wait for the host after every step: batches lie ready, and results are read later. Edges with tokens, edges of
/// parameters, and edges to collectives stay as they are. Changes nothing in a plan without devices.
void widen_for_run_ahead(Plan& plan);

}  // namespace troupe
