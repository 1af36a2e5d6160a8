#pragma once

#include <cstddef>

#include "troupe/ops/graph/op.hpp"

namespace troupe {

// Ops that update several parameters at once. The pass merge_updates adds them; they have no functions for users.

/// The order of the inputs of a merged update: first every parameter followed by its states, which are updated in
/// place; then the gradients of all parameters; then the inputs that all parameters share, such as the learning rate.
struct MergedUpdate {
  /// Number of parameters.
  std::size_t parameters = 0;
  /// Number of stored inputs per parameter: the parameter itself, its states and the number of updates.
  std::size_t stored = 1;

  /// The index of the input that is parameter number `parameter`. The next stored - 1 inputs are its states.
  std::size_t first_stored(std::size_t parameter) const { return parameter * stored; }
  std::size_t gradient(std::size_t parameter) const { return parameters * stored + parameter; }
  std::size_t first_shared() const { return parameters * (stored + 1); }
};

/// The op that updates several parameters in the way in which `update` updates one; null if there is none.
const OpDef* merged_op_of(const OpDef& update);
/// The op that updates one parameter in the way in which `merged` updates several. Throws Error if `merged` is not a
/// merged op.
const OpDef& single_op_of(const OpDef& merged);
/// The layout of the inputs of a merged op with `inputs` inputs. Throws Error if `inputs` does not fit a whole number
/// of parameters, or if `merged` is not a merged op.
MergedUpdate merged_update(const OpDef& merged, const Attributes& attributes, std::size_t inputs);

}  // namespace troupe
