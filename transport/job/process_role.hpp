#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// The task of a process in its job, for strategies whose processes do different things.
enum class ProcessRole : std::uint8_t {
  any,        ///< any task; the strategy goes by the rank
  chief,      ///< gives out the work and keeps the results
  server,     ///< holds parameters
  worker,     ///< computes gradients
  evaluator,  ///< computes losses and metrics of data that is not trained on
};

/// The name of a role in TF_CONFIG: `any`, `chief`, `ps`, `worker`, `evaluator`.
std::string to_string(ProcessRole role);
/// Throws Error if there is no role of that name.
ProcessRole process_role_of(const std::string& name);

}  // namespace troupe
