#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Throws Error that names a variable and its value, and says why the value is refused.
[[noreturn]] void refuse_variable(const std::string& name, const std::string& value, const std::string& why);

/// The decimal integer of at least 0 in a text. Throws Error that names the variable and the text if it is anything
/// else.
int number_in(const std::string& name, const std::string& text);

/// The variables of one launcher, with error texts that name it. Keeps a reference to `environment`.
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

  /// The job with the rank and the world size in the variables of these names; the local rank and the local size may be
  /// missing. Throws Error if the rank is not below the world size.
  Job job(const std::string& rank, const std::string& world_size, const std::string& local_rank = {},
          const std::string& local_size = {}) const;

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// The hosts of a list in Slurm's notation, in order: `gnode[10,20-22],login1`. Numbers keep their leading zeros; a
/// name may have several brackets. `name` is the name of the variable, for error texts. Throws Error if the list is
/// malformed or names more than 65,536 hosts.
std::vector<std::string> expand_node_list(const std::string& name, const std::string& text);

/// The numbers of a list in Slurm's notation: `2(x3),1` is 2, 2, 2, 1. Throws Error like expand_node_list().
std::vector<int> expand_task_counts(const std::string& name, const std::string& text);

/// MASTER_ADDR:MASTER_PORT, with `port_offset` added to the port (29400 by default). Nothing if MASTER_ADDR is not set.
std::optional<std::string> master_address(const Environment& environment, int port_offset = 0);

/// A port between 20000 and 29999, below the kernel's ephemeral ports, that is a function of a job's name.
int port_of(std::string_view job_name);
/// The host with the port of the job's source and run id: host:port.
std::string address_on(const std::string& host, const Job& job);

/// The address at which the ranks meet if their launcher does not say: MASTER_ADDR if the user has set it, else on this
/// machine if all ranks run here, else empty.
std::string meeting_place(const Environment& environment, const Job& job);

/// Finds the job in the variables of one kind of launcher. Returns nothing if that launcher did not start this process.
/// Throws Error that names a variable and its value if it is malformed or contradicts another.
using JobResolver = std::optional<Job> (*)(const Environment&);
/// All resolvers, in the order in which they are tried.
const std::vector<JobResolver>& job_resolvers();
std::optional<Job> resolve_tf_config(const Environment& environment);

}  // namespace troupe
