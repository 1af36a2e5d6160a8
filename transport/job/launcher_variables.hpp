#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Throws Error that names a variable and its value, and says why the value is refused.
[[noreturn]] void refuse_variable(const std::string& name, const std::string& value, const std::string& why);

/// The decimal integer of at least 0 in a text. Throws Error that names the variable and the text if it is anything
/// else.
std::int64_t number_in(const std::string& name, const std::string& text);

/// The variables of one launcher, with error texts that name it. Keeps a reference to `environment`.
class LauncherVariables {
 public:
  LauncherVariables(const Environment& environment, const char* launcher)
      : environment_(environment), launcher_(launcher) {}

  bool has(const std::string& name) const { return environment_(name).has_value(); }
  /// Throws Error if the variable is not set.
  std::string text(const std::string& name) const;
  /// Throws Error if the variable is not set or is not an integer of at least 0.
  std::int64_t number(const std::string& name) const { return number_in(name, text(name)); }
  std::int64_t number_or(const std::string& name, std::int64_t otherwise) const;

  /// The job with the rank and the world size in the variables of these names. Throws Error if the rank is not below
  /// the world size.
  Job job(const std::string& rank, const std::string& world_size) const;

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// MASTER_ADDR:MASTER_PORT, with `port_offset` added to the port (29400 by default). Nothing if MASTER_ADDR is not set.
std::optional<std::string> master_address(const Environment& environment, int port_offset = 0);

/// A port between 20000 and 29999, below the kernel's ephemeral ports, that is a function of a job's name.
int port_of(std::string_view job_name);

/// The address at which the ranks meet if their launcher does not say: MASTER_ADDR if the user has set it, else on this
/// machine if all ranks run here, else empty.
std::string meeting_place(const Environment& environment, const Job& job);

/// A resolver for each launcher.
std::optional<Job> resolve_tf_config(const Environment& environment);
std::optional<Job> resolve_torchrun(const Environment& environment);
std::optional<Job> resolve_open_mpi(const Environment& environment);
std::optional<Job> resolve_pmi(const Environment& environment);
std::optional<Job> resolve_slurm(const Environment& environment);
std::optional<Job> resolve_lsf(const Environment& environment);
std::optional<Job> resolve_horovod(const Environment& environment);
std::optional<Job> resolve_rank_variables(const Environment& environment);

}  // namespace troupe
