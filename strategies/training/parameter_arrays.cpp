#include "troupe/strategies/training/parameter_arrays.hpp"

#include <algorithm>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

ParameterArrays parameter_arrays(const ParameterStore& store) {
  std::vector<std::string> names;
  for (const auto& entry : store.entries())
    if (entry.trainable || entry.name.find('/') == std::string::npos) names.push_back(entry.name);
  auto values = store.get(names);
  ParameterArrays arrays;
  for (std::size_t i = 0; i < names.size(); ++i) arrays.emplace_back(names[i], std::move(values[i]));
  return arrays;
}

std::set<std::string> set_parameter_arrays(
    ParameterStore& store, const ParameterArrays& arrays,
    const std::function<std::optional<std::string>(const std::string& name)>& name_of,
    const std::function<std::optional<std::set<std::string>>()>& names_of_model) {
  const auto entries = store.entries();
  std::optional<std::optional<std::set<std::string>>> of_model;
  const auto is_unknown = [&](const std::string& name) {
    if (std::ranges::find(entries, name, &ParameterStore::Entry::name) != entries.end()) return false;
    if (!of_model) of_model = names_of_model();
    return *of_model && !(*of_model)->contains(name);
  };
  ParameterArrays named;
  std::set<std::string> names;
  for (const auto& [name, array] : arrays) {
    const auto name_here = name_of ? name_of(name) : std::optional(name);
    if (!name_here) continue;
    if (is_unknown(*name_here)) throw Error("trainer", "the model has no parameter '" + *name_here + "'");
    named.emplace_back(*name_here, array);
    names.insert(*name_here);
  }
  store.set(named);
  return names;
}

}  // namespace troupe
