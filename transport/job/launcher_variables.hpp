#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Throws Error that names a variable and its value, and says why the value is refused.
[[noreturn]] void refuse_variable(const std::string& name, const std::string& value, const std::string& why);

/// Returns the decimal integer in `text`. Throws Error that names the variable `name` and the text unless it is an
/// integer of at least 0.
int number_in(const std::string& name, const std::string& text);

/// Reads the variables of one launcher, with error texts that name the launcher. Keeps a reference to `environment`.
class LauncherVariables {
 public:
  LauncherVariables(const Environment& environment, const char* launcher)
      : environment_(environment), launcher_(launcher) {}

  bool has(const std::string& name) const { return environment_(name).has_value(); }
  /// Throws Error if the variable is not set.
  std::string text(const std::string& name) const;
  /// Throws Error if the variable is not set or is not an integer of at least 0.
  int number(const std::string& name) const { return number_in(name, text(name)); }
  int number_or(const std::string& name, int otherwise) const { return has(name) ? number(name) : otherwise; }

  /// Returns the job whose rank and world size are in the variables of these names. The variables of the local rank and
  /// local size may be missing. Throws Error if a number is malformed, the world size is 0, or the rank is not below
  /// it.
  Job job(const std::string& rank, const std::string& world_size, const std::string& local_rank = {},
          const std::string& local_size = {}) const;

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// Returns the hosts of a list in Slurm's notation, in order: `gnode[10,20-22],login1`. Numbers keep their leading
/// zeros; a host may have several brackets. `name` is the name of the variable for error texts. Throws Error if the
/// list is malformed or names more than 65,536 hosts.
std::vector<std::string> expand_node_list(const std::string& name, const std::string& text);

/// Returns the numbers of a list in Slurm's notation: `2(x3),1` is 2, 2, 2, 1. Throws Error if the list is malformed or
/// has more than 65,536 numbers.
std::vector<int> expand_task_counts(const std::string& name, const std::string& text);

/// Returns MASTER_ADDR:MASTER_PORT with `port_offset` added to the port; the port is 29400 if MASTER_PORT is not set.
/// Returns nothing if MASTER_ADDR is not set or empty. Throws Error if there is no such port.
std::optional<std::string> master_address(const Environment& environment, int port_offset = 0);

/// Returns a port between 20,000 and 29,999, below the kernel's ephemeral ports, that depends on the job's name alone.
int port_of(std::string_view job_name);
/// Returns `host`:port, with the port_of() of the job's source and run id.
std::string address_on(const std::string& host, const Job& job);

/// Returns the address at which the ranks meet if the launcher does not set one: MASTER_ADDR:MASTER_PORT if MASTER_ADDR
/// is set, else an address of this machine if all ranks run here, else empty.
std::string meeting_place(const Environment& environment, const Job& job);

/// Returns the job in the variables of one kind of launcher; nothing if that launcher did not start this process.
/// Throws Error that names a variable and its value if it is malformed or contradicts another one.
using JobResolver = std::optional<Job> (*)(const Environment&);
/// Returns all resolvers in the order in which resolve_job() tries them.
const std::vector<JobResolver>& job_resolvers();
std::optional<Job> resolve_tf_config(const Environment& environment);

}  // namespace troupe
