#pragma once

#include <cstddef>

#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// Where the inputs of an update of several parameters stand: of each parameter in turn itself and its states, which
/// are updated in place; then the gradients of all; then what the update of one parameter has behind its gradient,
/// which they share.
struct MergedUpdate {
  std::size_t parameters = 0;
  /// Of each parameter: itself and its states.
  std::size_t stored = 1;

  std::size_t first_stored(std::size_t parameter) const { return parameter * stored; }
  std::size_t gradient(std::size_t parameter) const { return parameters * stored + parameter; }
  std::size_t first_shared() const { return parameters * (stored + 1); }
};

/// The op that does to several parameters what `update` does to one; null if there is none.
const OpDef* merged_op_of(const OpDef& update);
/// The op that does to one parameter what `merged` does to several.
const OpDef& single_op_of(const OpDef& merged);
/// How `inputs` inputs of a merged op are meant. Throws Error unless there are as many as for some whole number of
/// parameters.
MergedUpdate merged_update(const OpDef& merged, const Attributes& attributes, std::size_t inputs);

}  // namespace troupe
