#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe {

/// True if the edge of a producer at `place` is read in host memory: by an actor on the host, or by the proxy for
/// another process.
bool is_read_on_host(const Plan& plan, const PlanEdge& edge, const Place& place);

/// True if the actor belongs to the process and works on a device with memory of its own.
bool is_on_device(const PlanActor& actor, int process);

}  // namespace troupe
