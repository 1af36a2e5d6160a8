#pragma once

#include "troupe/ops/cpu/elements.hpp"

namespace troupe::cpu {

/// Whether an update goes ahead: it has no flag, or the flag, its last input, is above 0. A NaN is not.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

/// An attribute as a float.
inline float option(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

}  // namespace troupe::cpu
