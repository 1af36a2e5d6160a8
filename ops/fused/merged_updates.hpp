#pragma once

#include <cstddef>

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// Ops that update several parameters at once. A pass (merge_updates) makes them, not users.

/// The order of the inputs of a merged update: first every parameter followed by its states, which are updated in
/// place; then the gradients of all parameters; then the inputs that all parameters share, such as the learning rate.
struct MergedUpdate {
  /// Number of parameters.
  std::size_t parameters = 0;
  /// Number of inputs for a parameter and its states.
  std::size_t stored = 1;

  /// The input with a parameter; its states follow.
  std::size_t first_stored(std::size_t parameter) const { return parameter * stored; }
  std::size_t gradient(std::size_t parameter) const { return parameters * stored + parameter; }
  std::size_t first_shared() const { return parameters * (stored + 1); }
};

/// The op that updates several parameters as `update` updates one; null if there is none.
const OpDef* merged_op_of(const OpDef& update);
/// The op that updates one parameter as `merged` updates several.
const OpDef& single_op_of(const OpDef& merged);
/// The order of `inputs` inputs of a merged op. Throws Error if they are not the inputs of a whole number of
/// parameters.
MergedUpdate merged_update(const OpDef& merged, const Attributes& attributes, std::size_t inputs);

}  // namespace troupe
