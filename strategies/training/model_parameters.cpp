#include "troupe/strategies/training/model_parameters.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// Returns the graph of the model with its loss, or without it if the loss lacks a field. Returns nothing if the model
/// lacks a field, too. A model is the user's code, which may throw any std::exception.
std::optional<Graph> graph_for(Purpose purpose, const TrainingSpec& spec, const std::vector<Field>& fields) {
  try {
    return forward_graph(spec, fields, purpose);
  } catch (const std::exception&) {
  }
  try {
    return model_graph(spec, fields, purpose);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::set<std::string> names_in(const ParameterStore& store) {
  std::set<std::string> names;
  for (const auto& entry : store.entries()) names.insert(entry.name);
  return names;
}

}  // namespace

std::vector<PlanParameter> model_parameters(const TrainingSpec& spec, const std::vector<Field>& fields) {
  std::vector<PlanParameter> parameters;
  std::set<std::string> present;
  for (const auto purpose : {Purpose::training, Purpose::evaluation}) {
    const auto graph = graph_for(purpose, spec, fields);
    if (!graph) continue;
    for (const auto id : graph->sources(kParameter)) {
      const auto& node = graph->producer(id);
      if (present.insert(node.name).second)
        parameters.push_back({{node.name, 0}, graph->info(id), Device{}, node.initializer, node.trainable});
    }
  }
  return parameters;
}

std::vector<PlanParameter> note_model_order(const Stores& stores, const std::vector<PlanParameter>& planned,
                                            Purpose purpose, const TrainingSpec& spec,
                                            const std::vector<Field>& fields) {
  const auto& first = *stores.front();
  const auto present = names_in(first);
  const auto is_present = [&](const PlanParameter& parameter) {
    return parameter.per_replica || present.contains(parameter.ref.name);
  };
  if (first.unclaimed().empty() && (purpose == Purpose::training || std::ranges::all_of(planned, is_present)))
    return {};
  auto of_model = model_parameters(spec, fields);
  for (const auto& store : stores) store->note_order(purpose == Purpose::training ? planned : of_model);
  return of_model;
}

void add_missing(const Stores& stores, const std::vector<PlanParameter>& parameters) {
  if (parameters.empty()) return;
  for (const auto& store : stores) {
    auto present = names_in(*store);
    for (auto parameter : parameters) {
      if (parameter.per_replica || !present.insert(parameter.ref.name).second) continue;
      parameter.device = Device{};
      store->add(parameter);
    }
  }
}

}  // namespace troupe
