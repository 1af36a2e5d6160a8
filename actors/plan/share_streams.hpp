#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets segments on a device that follow each other launch their work on one stream, which keeps their order without
/// events: those of one chain (see chains.hpp, also for plans too large to have any) with the same executor. Sources,
/// which run ahead, keep streams of their own. Fills in PlanSegment::stream. `dependencies` are those of the plan
/// before it was grouped.
///
/// A stream does its work in the order in which it was launched, so a segment also waits for what others of the chain
/// launched before. That cannot deadlock as long as work waits only for what its process has launched earlier or, in a
/// collective, launches in the same call. Collectives between devices of several processes wait for what another
/// process launches; a plan with those is left alone.
void share_streams(Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
