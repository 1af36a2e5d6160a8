#include "troupe/strategies/step/hook_site.hpp"

#include <typeinfo>

#include "troupe/ops/core/hash.hpp"

namespace troupe {

std::string name_of_hook_site(const TrainingSpec& spec, const GradientHook& hook,
                              std::span<const std::string> parameters, std::size_t first,
                              std::span<const Value> gradients) {
  Hash hash;
  hash.add(spec.trainer);
  hash.add(typeid(hook).name());
  for (const auto& parameter : parameters) hash.add(parameter);
  hash.add(first);
  for (const auto& gradient : gradients) hash.add(to_string(gradient.info()));
  return "hook/" + hash.hex();
}

}  // namespace troupe
