#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

// Trainings of a weight whose gradient is the mean of the data.

namespace troupe::testing {

/// The field g, one number per row.
inline Dataset numbers(const std::vector<float>& g, std::int64_t batch) {
  return Dataset::from_arrays({{"g", Tensor::from<float>({static_cast<std::int64_t>(g.size()), 1}, g)}}).batch(batch);
}

/// A model whose loss is w g for the parameter w with this name, so that the gradient of w is the mean of g.
inline Model times(const std::string& parameter, double start = 0.0) {
  return [=](const Inputs& in) -> Outputs {
    return mul(in["g"], in.builder().parameter(parameter, {1}, Initializer::constant(start)));
  };
}

inline const auto kRowLoss = [](const Outputs& outputs, const Inputs&) { return reshape(outputs[""], {kBatch}); };

inline float value_of(const ParameterStore& store, const std::string& name) {
  return store.get(name).item<float>();
}

/// The strategies in which every update uses all rows of a step.
inline std::vector<std::shared_ptr<const Strategy>> synchronous() {
  const auto places = places_of(cpu_devices(2));
  return {std::make_shared<OneDevice>(), std::make_shared<Mirrored>(places),
          std::make_shared<ParameterServer>(places, std::vector<Place>{{}}, ConsistencyRule::synchronous(2)),
          std::make_shared<CentralStorage>(places, Place{})};
}

}  // namespace troupe::testing
