#pragma once

#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/actors/store/update_counter.hpp"

// Small parameters and their values, for tests of the store.

namespace troupe::testing {

inline PlanParameter parameter(const std::string& name, int replica = 0, const Shape& shape = {2, 2}) {
  return {{name, replica}, {shape, DType::float32}, {}, Initializer::glorot_uniform(), true};
}

inline PlanParameter state(const std::string& name, int replica = 0) {
  return {{name, replica}, {{2, 2}, DType::float32}, {}, Initializer::zeros(), false};
}

inline std::vector<float> values(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

inline Tensor constant(float value) {
  return Tensor::from<float>({2, 2}, std::vector<float>(4, value));
}

/// Updates a borrowed copy.
inline void update(ParameterStore& store, const ParameterRef& ref, float value, bool whole = true) {
  store.counter(ref)->begin_update();
  for (auto& element : store.borrowed(ref).mutable_data<float>()) element = value;
  if (whole) store.counter(ref)->finish_update();
}

}  // namespace troupe::testing
