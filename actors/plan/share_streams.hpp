#pragma once

#include "troupe/actors/plan/dependencies.hpp"

namespace troupe {

/// Lets segments on a device that follow each other launch their work on one stream, which keeps their order without
/// events. Segments share a stream if they run on the same executor and belong to one chain (chains.hpp). Actors with
/// Pacing::source run ahead of the others and keep streams of their own. So do collectives and all other actors
/// for which can_contract() (chains.hpp) is false. Fills in PlanSegment::stream. `dependencies` are those of the plan
/// before it was grouped.
///
/// A stream does its work in the order of launches, so a segment also waits for earlier launches of other segments in
/// the chain. This order cannot deadlock as long as work waits only for earlier launches of its process or, in a
/// collective, for launches of the same call. Collectives between devices of several processes wait for launches of
/// another process, so a plan with a communicator over such devices is left unchanged.
void share_streams(Plan& plan, const Dependencies& dependencies);

}  // namespace troupe
