#pragma once

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/shard/recording.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class ParameterStore;
struct FitOptions;
struct TrainingPosition;

/// Returns the recordings for a fit by this plan on this data from the current parameters and `position`: an empty
/// recording to fill if options.record is set, and the recording in the file options.replay if that is set. Throws
/// Error if the file cannot be read, or belongs to another program, other data, other parameters, another position or
/// other limits of epochs, steps and pauses. Throws Error if one of the options is set, the plan keeps state per
/// replica, and the training has made a step.
RunRecords recordings_for(const FitOptions& options, const Plan& plan, const Dataset& data, const ParameterStore& store,
                          const TrainingPosition& position);

}  // namespace troupe
