#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

class ParameterStore;

/// Parameters and buffers by name.
using ParameterArrays = std::vector<std::pair<std::string, Tensor>>;

/// Returns copies of the parameters and the buffers in a store, without optimizer state; see
/// Trainer::parameter_arrays().
ParameterArrays parameter_arrays(const ParameterStore& store);

/// Sets the named parameters, or none if it throws Error; see Trainer::set_parameters(). `name_of`, if it is not empty,
/// maps the names of the arrays to names in the store. `names_of_model` returns the names of the model, or nothing if
/// they are not known: then no name is refused. It is called at most once, if the store lacks a name. Returns the
/// names that were set.
std::set<std::string> set_parameter_arrays(
    ParameterStore& store, const ParameterArrays& arrays,
    const std::function<std::optional<std::string>(const std::string& name)>& name_of,
    const std::function<std::optional<std::set<std::string>>()>& names_of_model);

}  // namespace troupe
