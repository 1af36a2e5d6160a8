#include "troupe/strategies/training/trained_parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/shard/update_count.hpp"

namespace troupe {

namespace {

/// The processes and the names of the parameters that their actors update.
std::set<std::pair<int, std::string>> trained_in(const Plan& plan) {
  std::set<std::string> trainable;
  for (const auto& parameter : plan.parameters)
    if (parameter.trainable && parameter.ref.replica == 0) trainable.insert(parameter.ref.name);
  std::set<std::pair<int, std::string>> trained;
  const auto add = [&](const PlanActor& actor, const ParameterRef& ref) {
    if (trainable.contains(ref.name)) trained.emplace(actor.place.process, ref.name);
  };
  for (const auto& actor : plan.actors) {
    for (const auto& output : actor.outputs)
      if (output.parameter) add(actor, *output.parameter);
    for (const auto& held : actor.parameters)
      if (held.written) add(actor, held.ref);
  }
  return trained;
}

}  // namespace

TrainedParameters::TrainedParameters(const Stores& stores, const Plan& plan) {
  for (const auto& [process, name] : trained_in(plan))
    if (const auto& store = stores.at(static_cast<std::size_t>(process))) trained_.emplace_back(store, name);
  std::set<std::string> counts;
  for (const auto& parameter : plan.parameters)
    if (UpdateCount::is_name(parameter.ref.name)) counts.insert(parameter.ref.name);
  for (const auto& store : stores)
    for (const auto& name : counts)
      if (store) update_counts_.emplace_back(store, name);
}

void TrainedParameters::note_step(std::int64_t step) const {
  for (const auto& [store, name] : update_counts_) UpdateCount::note_step(*store, name, step);
}

std::optional<std::int64_t> TrainedParameters::updates() const {
  std::optional<std::int64_t> largest;
  for (const auto& [store, name] : trained_) {
    const auto updates = store->newest_updates(name);
    if (!updates) return std::nullopt;
    largest = std::max(largest.value_or(0), *updates);
  }
  return largest;
}

}  // namespace troupe
