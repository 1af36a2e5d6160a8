#pragma once

#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// An addition to a variable of the coordinator, requested by a function that a worker has executed.
struct VariableUpdate {
  std::string name;
  Tensor delta;
};

/// The result of one execution of a call, which is a function that the coordinator has scheduled on a worker.
struct CallResult {
  std::vector<Tensor> outputs;
  std::vector<VariableUpdate> updates;
  /// The error of the function; empty if it succeeded.
  std::string error;
};

}  // namespace troupe
