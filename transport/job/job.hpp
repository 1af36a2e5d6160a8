#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe {

/// The task of a process in its job, for strategies whose processes have different tasks.
enum class ProcessRole : std::uint8_t {
  any,        ///< no given task: the strategy derives the task from the rank
  chief,      ///< assigns work to the workers and keeps the results
  server,     ///< holds parameters
  worker,     ///< computes gradients
  evaluator,  ///< computes losses and metrics on data that is not used for training
};

/// Returns the name of a role: `any`, or the task type in TF_CONFIG, `chief`, `ps` for a server, `worker` or
/// `evaluator`.
std::string to_string(ProcessRole role);
/// Returns the role of that name. Throws Error if there is none.
ProcessRole process_role_of(const std::string& name);

/// The place of this process in its job, and the address at which the processes meet.
struct Job {
  int rank = 0;
  int world_size = 1;
  /// The rank of this process among the processes of the job on this machine, and the number of those processes; -1 if
  /// the launcher does not set them.
  int local_rank = -1;
  int local_size = -1;
  /// The address host:port at which rank 0 accepts the other ranks. May be empty for a job of one process.
  std::string rendezvous = {};
  /// An id by which rank 0 recognizes, and refuses, processes of other jobs that use the same address. May be empty.
  std::string run_id = {};
  /// The origin of rank and world size: `flags`, or the name of a launcher, such as `TF_CONFIG` or `torchrun`, or
  /// `single process` if neither sets them.
  std::string source = "single process";
  ProcessRole role = ProcessRole::any;

  bool operator==(const Job&) const = default;
};

/// The job as given on the command line. Rank and world size must be given together; then the variables of launchers
/// are ignored. The other fields, if given, replace the values of the launcher.
struct JobFlags {
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
  std::string rendezvous = {};
  std::string run_id = {};
  std::optional<ProcessRole> role = {};
};

/// A function that returns the value of an environment variable; nothing if the variable is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// Returns a function that reads the environment of this process.
Environment process_environment();

/// Returns the job of the flags if they have a rank, else the job of the first launcher in this order whose variables
/// are set: TF_CONFIG, torchrun, Open MPI, PMI (MPICH, Intel MPI), a Slurm step, LSF, Horovod, RANK and WORLD_SIZE
/// alone; else a job of one process. Throws Error if a flag or a variable is malformed, if launchers contradict each
/// other, or if a job of several processes has no rendezvous address.
Job resolve_job(const JobFlags& flags = {}, const Environment& environment = process_environment());

/// Returns the job as a text such as `rank 1 of 4 (Open MPI), rendezvous 127.0.0.1:20311`.
std::string to_string(const Job& job);

}  // namespace troupe
