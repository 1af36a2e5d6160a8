#include "troupe/strategies/training/start_values.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

using Parameters = std::vector<PlanParameter>;

bool has(const Parameters& parameters, const std::string& name) {
  return std::ranges::any_of(parameters, [&](const PlanParameter& parameter) { return parameter.ref.name == name; });
}

/// Throws Error if a start value for which `is_checked` is true belongs to none of the parameters and is no optimizer
/// state.
void refuse_unknown_values(const ParameterStore& store, const Parameters& planned, const Parameters& of_model,
                           const std::function<bool(const std::string& name)>& is_checked) {
  for (const auto& name : store.unclaimed()) {
    if (!is_checked(name) || name.find('/') != std::string::npos || has(planned, name) || has(of_model, name)) continue;
    std::string names;
    for (const auto& [ref, info, device, initializer, trainable, per_replica] : planned)
      if (trainable && ref.replica == 0) names += (names.empty() ? "'" : ", '") + ref.name + "'";
    throw Error("trainer", "a value was set for '" + name +
                               "' (ParameterStore::forget drops it), but the model has the "
                               "parameters " +
                               names);
  }
}

}  // namespace

void check_start_values(const ParameterStore& store, const Parameters& planned, const Parameters& of_model,
                        const std::string& trainer, const std::set<std::string>& set_by_user) {
  const bool all = !store.has_other_trainer(trainer);
  refuse_unknown_values(store, planned, of_model,
                        [&](const std::string& name) { return all || set_by_user.contains(name); });
}

void check_values_for_prediction(const ParameterStore& store, const Parameters& planned, const Parameters& of_model,
                                 const std::string& trainer, const std::set<std::string>& set_by_user) {
  const auto has_value = [&](const PlanParameter& parameter) {
    return store.newest_updates(parameter.ref.name).has_value();
  };
  if (!std::ranges::all_of(planned, has_value)) check_start_values(store, planned, of_model, trainer, set_by_user);
}

}  // namespace troupe
