#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// Returns the name of the place at which a hook gets `gradients`; see GradientHook::Site::name. `parameters` has the
/// names of the parameters of all gradients of a step in an order that follows from the graph, such as that in which
/// the forward pass reads them. `first` is the index of the first of `gradients` among the gradients of the step.
/// Another trainer, other parameters, other shapes and another class of hook have other names: what a hook keeps is a
/// part of the gradients of the same parameters, and of no others.
std::string name_of_hook_site(const TrainingSpec& spec, const GradientHook& hook,
                              std::span<const std::string> parameters, std::size_t first,
                              std::span<const Value> gradients);

}  // namespace troupe
