#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/plan/plan.hpp"

namespace troupe::testing {

inline constexpr int kModulus = 101;

inline float wrapped(std::int64_t value) {
  return static_cast<float>(value % kModulus);
}

/// The elements of a tensor of a random plan.
using Values = std::vector<float>;

/// What an actor makes of its inputs in one firing.
inline float combine(ActorId id, std::int64_t element, const std::vector<Values>& inputs) {
  std::int64_t sum = 7 * id + 3 * element;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    sum += static_cast<std::int64_t>(i + 2) *
           static_cast<std::int64_t>(inputs[i][static_cast<std::size_t>(element) % inputs[i].size()]);
  return wrapped(sum);
}

/// What a source makes in a step.
inline float from_source(ActorId id, std::int64_t element, std::int64_t step) {
  return wrapped(5 * step + 11 * id + element);
}

}  // namespace troupe::testing
