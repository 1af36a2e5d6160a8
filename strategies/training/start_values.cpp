#include "troupe/strategies/training/start_values.hpp"

#include <algorithm>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Returns the name of a start value for none of `parameters` and no optimizer state; empty if there is none.
std::string value_without_parameter(const ParameterStore& store, const std::vector<PlanParameter>& parameters) {
  for (const auto& name : store.unclaimed()) {
    if (name.find('/') != std::string::npos) continue;
    const auto has_name = [&](const PlanParameter& parameter) { return parameter.ref.name == name; };
    if (std::ranges::none_of(parameters, has_name)) return name;
  }
  return {};
}

[[noreturn]] void refuse(const std::string& name, const std::vector<PlanParameter>& parameters) {
  std::string names;
  for (const auto& [ref, info, device, initializer, trainable, per_replica] : parameters)
    if (trainable && ref.replica == 0) names += (names.empty() ? "'" : ", '") + ref.name + "'";
  throw Error("trainer", "a value was set for '" + name +
                             "' (ParameterStore::forget drops it), but the model has the "
                             "parameters " +
                             names);
}

}  // namespace

void check_start_values(const ParameterStore& store, const Plan& plan, const std::string& trainer) {
  if (store.has_other_trainer(trainer)) return;
  if (const auto name = value_without_parameter(store, plan.parameters); !name.empty()) refuse(name, plan.parameters);
}

void check_values_for_prediction(const ParameterStore& store, const std::vector<PlanParameter>& parameters,
                                 const std::string& trainer) {
  if (store.has_other_trainer(trainer)) return;
  const auto has_value = [&](const PlanParameter& parameter) {
    return store.newest_updates(parameter.ref.name).has_value();
  };
  if (std::ranges::all_of(parameters, has_value)) return;
  if (const auto name = value_without_parameter(store, parameters); !name.empty()) refuse(name, parameters);
}

}  // namespace troupe
