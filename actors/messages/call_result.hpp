#pragma once

#include <string>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The addition of `delta` to a variable of the Coordinator, which schedules functions on workers. A function that a
/// worker has executed requests the addition.
struct VariableUpdate {
  std::string name;
  Tensor delta;
};

/// The result of one execution of a call. A call is a function, with its inputs, that the Coordinator has scheduled on
/// a worker.
struct CallResult {
  std::vector<Tensor> outputs;
  std::vector<VariableUpdate> updates;
  /// The error text of the function; empty if the function has succeeded.
  std::string error;
};

}  // namespace troupe
