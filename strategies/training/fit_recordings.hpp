#pragma once

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class ParameterStore;
struct FitOptions;

/// The recordings that the options name, for a fit by this plan on these data from the current parameters. Throws Error
/// if a recording cannot be read, or belongs to another program, other data or other parameters.
RunRecords recordings_for(const FitOptions& options, const Plan& plan, const Dataset& data,
                          const ParameterStore& store);

}  // namespace troupe
