#pragma once

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

/// Throws Error that names the data set unless the layers of a training plan can carry their states from batch to batch
/// (see CarriedState): the data must be neither shuffled nor have batches of another size than the states, the last one
/// included. Does nothing for a plan without such layers.
void check_carried_states(const Plan& plan, const Dataset& data);

}  // namespace troupe
