#include "troupe/strategies/training/start_values.hpp"

#include <algorithm>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void check_start_values(const ParameterStore& store, const Plan& plan, const std::string& trainer) {
  if (store.has_other_trainer(trainer)) return;
  for (const auto& name : store.unclaimed()) {
    if (name.find('/') != std::string::npos) continue;
    const auto has_name = [&](const PlanParameter& parameter) { return parameter.ref.name == name; };
    if (std::ranges::any_of(plan.parameters, has_name)) continue;
    std::string names;
    for (const auto& [ref, info, device, initializer, trainable, per_replica] : plan.parameters)
      if (trainable && ref.replica == 0) names += (names.empty() ? "'" : ", '") + ref.name + "'";
    throw Error("trainer", "a value was set for '" + name +
                               "' (ParameterStore::forget drops it), but the model has the "
                               "parameters " +
                               names);
  }
}

}  // namespace troupe
