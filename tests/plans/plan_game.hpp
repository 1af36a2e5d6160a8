#pragma once

#include "troupe/actors/plan/plan.hpp"

namespace troupe::testing {

/// Plays a plan, grouped into segments, by hand: takes tensors and slots as the protocol does, in any order, until
/// every segment has fired often enough. False if it gets stuck.
bool plays(const Plan& plan);

/// Every actor a segment of its own, by nothing but the words of split(): a loop of an actor to itself gets a slot
/// more.
Plan one_by_one(Plan plan);

}  // namespace troupe::testing
