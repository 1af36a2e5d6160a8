#pragma once

#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/data/field.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

class ParameterStore;

/// Returns the parameters and buffers of a model and its loss, for replica 0 and in host memory: those of training in
/// the order of its graph, then those that only evaluation has. Leaves out the parameters of the loss if the loss lacks
/// a field, and those of training, or of evaluation, if the model lacks a field for it.
std::vector<PlanParameter> model_parameters(const TrainingSpec& spec, const std::vector<Field>& fields);

/// Adds the parameters of model_parameters() that the store lacks to `planned`, the parameters of a plan for this
/// purpose. Puts those of a plan for evaluation into the order of model_parameters(). A store that gets them all has
/// every parameter of the model, and its start values are the same whether evaluation or training comes first. Does
/// nothing if the store has no start value without a parameter, and the plan is for training or the store has all
/// parameters in `planned`.
void complete_parameters(std::vector<PlanParameter>& planned, Purpose purpose, const ParameterStore& store,
                         const TrainingSpec& spec, const std::vector<Field>& fields);

}  // namespace troupe
