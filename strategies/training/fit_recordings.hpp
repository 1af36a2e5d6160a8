#pragma once

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class ParameterStore;
struct FitOptions;

/// Returns the recordings that options.record and options.replay name, for a fit by this plan on this data from the
/// current parameters. Throws Error if the recording to replay cannot be read, or belongs to another program, other
/// data or other parameters. Throws Error if the plan keeps state per replica and the training has begun.
RunRecords recordings_for(const FitOptions& options, const Plan& plan, const Dataset& data,
                          const ParameterStore& store);

}  // namespace troupe
