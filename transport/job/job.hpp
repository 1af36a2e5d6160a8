#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "troupe/transport/job/process_role.hpp"

namespace troupe {

/// Which of the processes of a job this one is, and where they meet.
struct Job {
  int rank = 0;
  int world_size = 1;
  /// Among the processes of this machine; -1 if the launcher does not say.
  int local_rank = -1;
  int local_size = -1;
  /// Where rank 0 waits for the others: host:port. Empty for a job of one.
  std::string rendezvous = {};
  /// What tells this job from another that uses the same address.
  std::string run_id = {};
  /// Who said so: `flags`, `TF_CONFIG`, `torchrun`, ...
  std::string source = "single process";
  ProcessRole role = ProcessRole::any;

  bool operator==(const Job&) const = default;
};

/// What the user says on the command line. Rank and size are given together; the address alone completes what a
/// launcher says.
struct JobFlags {
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
  std::string rendezvous = {};
  std::string run_id = {};
  std::optional<ProcessRole> role = {};
};

/// Looks up a variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// That of this process.
Environment process_environment();

/// What one kind of launcher says of this process; nothing if it has not started it. Throws Error that names the
/// variable and its value if that is malformed or contradicts another.
using JobResolver = std::optional<Job> (*)(const Environment&);

/// In the order in which they are asked.
struct NamedResolver {
  const char* name;
  JobResolver resolve;
};
const std::vector<NamedResolver>& job_resolvers();

/// The job as the flags, or the first launcher that has set its variables, says: flags, TF_CONFIG, torchrun, Open MPI,
/// PMI (MPICH, Intel MPI), a Slurm step, LSF, Horovod, RANK and WORLD_SIZE alone; else a single process. Throws Error
/// if something is malformed, launchers contradict each other, or nothing says where to meet.
Job resolve_job(const JobFlags& flags = {}, const Environment& environment = process_environment());

/// `rank 1 of 4 (Open MPI), rendezvous 127.0.0.1:20311`.
std::string to_string(const Job& job);

}  // namespace troupe
