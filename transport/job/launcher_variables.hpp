#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/transport/job/job.hpp"

namespace troupe {

/// Throws Error that names a variable and its value, and says why the value is refused: `why` ends the error text.
[[noreturn]] void refuse_variable(const std::string& name, const std::string& value, const std::string& why);

/// Returns the decimal integer in `text`. Throws Error that names the variable `name` and the text unless it is an
/// integer of at least 0.
int number_in(const std::string& name, const std::string& text);

/// Reads the variables of one launcher; error texts name the launcher. Keeps references to `environment` and
/// `launcher`.
class LauncherVariables {
 public:
  LauncherVariables(const Environment& environment, const char* launcher)
      : environment_(environment), launcher_(launcher) {}

  bool has(const std::string& name) const { return environment_(name).has_value(); }
  /// Returns the value of a variable. Throws Error if the variable is not set.
  std::string text(const std::string& name) const;
  /// Returns the value of a variable. Throws Error if the variable is not set or is not an integer of at least 0.
  int number(const std::string& name) const { return number_in(name, text(name)); }
  int number_or(const std::string& name, int otherwise) const { return has(name) ? number(name) : otherwise; }

  /// Returns the job whose rank, world size, local rank and local size are in the variables of these names. The last
  /// two variables may be missing. Throws Error if the first two are not set, a number is malformed, the world size is
  /// 0, or the rank is not below the world size.
  Job job(const std::string& rank, const std::string& world_size, const std::string& local_rank = {},
          const std::string& local_size = {}) const;

 private:
  const Environment& environment_;
  const char* launcher_;
};

/// Returns the hosts of a list in Slurm's notation, in order: `gnode[08-10],login1` is gnode08, gnode09, gnode10,
/// login1. Numbers keep their leading zeros; a host may have several brackets. `name` is the name of the variable for
/// error texts. Throws Error if the list is malformed or names more than 65,536 hosts.
std::vector<std::string> expand_node_list(const std::string& name, const std::string& text);

/// Returns the numbers of a list in Slurm's notation: `2(x3),1` is 2, 2, 2, 1. `name` is the name of the variable for
/// error texts. Throws Error if the list is malformed or has more than 65,536 numbers.
std::vector<int> expand_task_counts(const std::string& name, const std::string& text);

/// Returns MASTER_ADDR:MASTER_PORT with `port_offset` added to the port, or subtracted if the sum is above 65,535. The
/// port is 29400 if MASTER_PORT is not set. Returns nothing if MASTER_ADDR is not set or empty. Throws Error if
/// MASTER_PORT is malformed or no port.
std::optional<std::string> master_address(const Environment& environment, int port_offset = 0);

/// Returns a port from 20,000 to 29,999, below the kernel's ephemeral ports. Equal job names give equal ports.
int port_of(std::string_view job_name);
/// Returns the address `host`:port, where port_of() derives the port from the source and the run id of `job`.
std::string address_on(const std::string& host, const Job& job);

/// Returns the address at which the ranks meet if the launcher does not set one: MASTER_ADDR:MASTER_PORT if MASTER_ADDR
/// is set, else an address of this machine if all ranks run on it, else an empty text.
std::string meeting_place(const Environment& environment, const Job& job);

/// A function that returns the job in the variables of one kind of launcher; nothing if that launcher did not start
/// this process. Throws Error that names a variable and its value if the variable is malformed or contradicts another
/// one.
using JobResolver = std::optional<Job> (*)(const Environment&);
/// Returns the resolvers of all launchers, in the order in which resolve_job() tries them.
const std::vector<JobResolver>& job_resolvers();
std::optional<Job> resolve_tf_config(const Environment& environment);

/// Throws Error if a launcher's variable for the rank is set without that for the number of processes, or the reverse.
/// Call it if no resolver returns a job: such a process would train alone.
void refuse_incomplete(const Environment& environment);

}  // namespace troupe
