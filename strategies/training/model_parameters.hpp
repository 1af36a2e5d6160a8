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

/// Notes the order of the parameters of a model in the stores, before they get `planned`, the parameters of a plan for
/// this purpose. Start values depend on this order. It is the same whether evaluation or training comes first.
/// Returns the parameters of model_parameters(), which add_missing() must add after the plan is spawned. Does
/// nothing and returns nothing if the first store has no start value without a parameter, and the plan is for training
/// or the store has all of `planned`.
std::vector<PlanParameter> note_model_order(const Stores& stores, const std::vector<PlanParameter>& planned,
                                            Purpose purpose, const TrainingSpec& spec,
                                            const std::vector<Field>& fields);

/// Adds to each store the parameters that it lacks, in host memory. Leaves out states that every replica has for
/// itself. Throws Error like ParameterStore::add().
void add_missing(const Stores& stores, const std::vector<PlanParameter>& parameters);

}  // namespace troupe
