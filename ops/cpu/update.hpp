#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Whether an update is applied: it has no flag, or its flag, the last input, is above 0. A NaN is not above 0.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

/// An attribute as a float.
inline float option(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

}  // namespace troupe::cpu
