#pragma once

#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/data/field.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// Returns the parameters and buffers of a model and its loss, for replica 0 and in host memory: those of training in
/// the order of its graph, then those that only evaluation has. Leaves out the parameters of the loss if the loss lacks
/// a field, and those of training, or of evaluation, if the model lacks a field for it.
std::vector<PlanParameter> model_parameters(const TrainingSpec& spec, const std::vector<Field>& fields);

/// Adds the parameters of model_parameters() that neither the stores nor `planned` have to the stores. `planned` has
/// the parameters of a plan for this purpose, which the stores get next. They then have all parameters of the model,
/// and start values, which depend on the order of the parameters in a store, are the same whether evaluation or
/// training comes first. Does nothing if the first store has no start value without a parameter, and the plan is for
/// training or the store has all of `planned`. Throws the errors of ParameterStore::add().
void add_model_parameters(const Stores& stores, const std::vector<PlanParameter>& planned, Purpose purpose,
                          const TrainingSpec& spec, const std::vector<Field>& fields);

}  // namespace troupe
