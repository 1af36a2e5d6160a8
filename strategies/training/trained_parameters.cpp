#include "troupe/strategies/training/trained_parameters.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

namespace {

/// The names of the parameters that the actors of a plan update.
std::vector<std::string> trained_in(const Plan& plan) {
  std::set<std::string> written;
  for (const auto& actor : plan.actors) {
    for (const auto& output : actor.outputs)
      if (output.parameter) written.insert(output.parameter->name);
    for (const auto& held : actor.parameters)
      if (held.written) written.insert(held.ref.name);
  }
  std::vector<std::string> trained;
  for (const auto& parameter : plan.parameters)
    if (parameter.trainable && parameter.ref.replica == 0 && written.contains(parameter.ref.name))
      trained.push_back(parameter.ref.name);
  return trained;
}

}  // namespace

TrainedParameters::TrainedParameters(std::shared_ptr<ParameterStore> store, const Plan& plan)
    : store_(std::move(store)), names_(trained_in(plan)) {}

std::optional<std::int64_t> TrainedParameters::updates() const {
  std::optional<std::int64_t> largest;
  for (const auto& name : names_) {
    const auto updates = store_->newest_updates(name);
    if (!updates) return std::nullopt;
    largest = std::max(largest.value_or(0), *updates);
  }
  return largest;
}

}  // namespace troupe
