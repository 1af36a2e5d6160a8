#pragma once

#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// An addition to a variable.
struct VariableUpdate {
  std::string name;
  Tensor delta;
};

/// The result of one execution of a call.
struct CallResult {
  std::vector<Tensor> outputs;
  std::vector<VariableUpdate> updates;
  /// The error of the function; empty if it succeeded.
  std::string error;
};

}  // namespace troupe
