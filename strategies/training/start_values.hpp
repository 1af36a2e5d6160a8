#pragma once

#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"

namespace troupe {

class ParameterStore;

/// Throws Error if the store has a start value for a parameter that is neither in `planned`, the parameters of a plan
/// of the trainer, nor in `of_model`. Start values of optimizer state, whose names contain a slash, are not checked:
/// they may belong to another optimizer. If the store has other trainers, or their positions, only the values in
/// `set_by_user`, which the user has set by this trainer, are checked: another value may be of the model of another
/// trainer.
void check_start_values(const ParameterStore& store, const std::vector<PlanParameter>& planned,
                        const std::vector<PlanParameter>& of_model, const std::string& trainer,
                        const std::set<std::string>& set_by_user);

/// Calls check_start_values() if one of `planned` has no value: a start value under a wrong name may be meant for it.
/// Otherwise checks nothing, because the plan of a prediction may lack parameters of the loss.
void check_values_for_prediction(const ParameterStore& store, const std::vector<PlanParameter>& planned,
                                 const std::vector<PlanParameter>& of_model, const std::string& trainer,
                                 const std::set<std::string>& set_by_user);

}  // namespace troupe
