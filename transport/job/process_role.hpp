#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// What a process is in its job, for strategies whose processes do different things.
enum class ProcessRole : std::uint8_t {
  any,        ///< whatever its rank means to the strategy
  chief,      ///< gives out the work, and keeps the results
  server,     ///< holds parameters
  worker,     ///< computes gradients
  evaluator,  ///< computes losses and metrics of data that is not trained on
};

/// `any`, `chief`, `ps`, `worker`, `evaluator`, as TF_CONFIG has them.
std::string to_string(ProcessRole role);
/// Throws Error if there is no such role.
ProcessRole process_role_of(const std::string& name);

}  // namespace troupe
