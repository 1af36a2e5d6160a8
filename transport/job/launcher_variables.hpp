#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Throws Error that names a variable and its value.
[[noreturn]] void refuse_variable(const std::string& name, const std::string& value, const std::string& why);

/// A decimal number from 0 on. Throws Error that names it if the text is anything else.
std::int64_t number_in(const std::string& name, const std::string& text);

/// The variables of one launcher.
class LauncherVariables {
 public:
  LauncherVariables(const Environment& environment, const char* launcher)
      : environment_(environment), launcher_(launcher) {}

  bool has(const std::string& name) const { return environment_(name).has_value(); }
  /// Throws Error if it is missing.
  std::string text(const std::string& name) const;
  std::int64_t number(const std::string& name) const { return number_in(name, text(name)); }
  std::int64_t number_or(const std::string& name, std::int64_t otherwise) const;

  /// Rank and size by the names of their variables. Throws Error if the rank is not below the size.
  Job job(const std::string& rank, const std::string& world_size) const;

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// MASTER_ADDR:MASTER_PORT, `port_offset` further on; nothing if there is no MASTER_ADDR.
std::optional<std::string> master_address(const Environment& environment, int port_offset = 0);

/// A port between 20000 and 29999, below those that the kernel gives out, that follows from a job's name.
int port_of(std::string_view job_name);

/// Where the ranks of a job meet whose launcher does not say: on this machine if all are here, else MASTER_ADDR if the
/// user has passed it on. Empty if neither.
std::string meeting_place(const Environment& environment, const Job& job);

/// One resolver for each environment.
std::optional<Job> resolve_tf_config(const Environment& environment);
std::optional<Job> resolve_torchrun(const Environment& environment);
std::optional<Job> resolve_open_mpi(const Environment& environment);
std::optional<Job> resolve_pmi(const Environment& environment);
std::optional<Job> resolve_slurm(const Environment& environment);
std::optional<Job> resolve_lsf(const Environment& environment);
std::optional<Job> resolve_horovod(const Environment& environment);
std::optional<Job> resolve_rank_variables(const Environment& environment);

}  // namespace troupe
