#include "troupe/strategies/training/model_parameters.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// Returns the graph of the model with its loss, or without it if the loss lacks a field. Returns nothing if the model
/// lacks a field, too. A model is the user's code, which may throw any exception.
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

void complete_parameters(std::vector<PlanParameter>& planned, Purpose purpose, const ParameterStore& store,
                         const TrainingSpec& spec, const std::vector<Field>& fields) {
  auto present = names_in(store);
  const auto is_present = [&](const PlanParameter& parameter) {
    return parameter.per_replica || present.contains(parameter.ref.name);
  };
  if (store.unclaimed().empty() && (purpose == Purpose::training || std::ranges::all_of(planned, is_present))) return;
  for (const auto& parameter : planned) present.insert(parameter.ref.name);
  const auto of_model = model_parameters(spec, fields);
  for (const auto& parameter : of_model)
    if (!present.contains(parameter.ref.name)) planned.push_back(parameter);
  if (purpose == Purpose::training) return;
  const auto place = [&](const PlanParameter& parameter) {
    const auto has_name = [&](const PlanParameter& other) { return other.ref.name == parameter.ref.name; };
    return std::ranges::find_if(of_model, has_name) - of_model.begin();
  };
  // Plans without other parameters keep their own order of the copies of all replicas.
  std::vector<std::ptrdiff_t> places;
  for (const auto& parameter : planned)
    if (const auto at = place(parameter); std::ranges::find(places, at) == places.end()) places.push_back(at);
  if (!std::ranges::is_sorted(places)) std::ranges::stable_sort(planned, {}, place);
}

}  // namespace troupe
