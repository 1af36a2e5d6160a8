#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// The place of this process in its job, and the address at which the processes meet.
struct Job {
  int rank = 0;
  int world_size = 1;
  /// The rank and the number of processes on this machine; -1 if the launcher does not say.
  int local_rank = -1;
  int local_size = -1;
  /// The address at which rank 0 accepts the others: host:port. Empty for a job of one process.
  std::string rendezvous = {};
  /// An id that differs from those of other jobs that use the same address.
  std::string run_id = {};
  /// The flags or the launcher that named the job: `flags`, `TF_CONFIG`, `torchrun`, ...
  std::string source = "single process";
  ProcessRole role = ProcessRole::any;

  bool operator==(const Job&) const = default;
};

/// The job as given on the command line. Rank and world size are given together. The other fields complete or replace
/// the values of the launcher.
struct JobFlags {
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
  std::string rendezvous = {};
  std::string run_id = {};
  std::optional<ProcessRole> role = {};
};

/// Looks up an environment variable. Returns nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// The environment of this process.
Environment process_environment();

/// The job of the flags, or else of the first launcher that has set its variables, in this order: TF_CONFIG, torchrun,
/// Open MPI, PMI (MPICH, Intel MPI), a Slurm step, LSF, Horovod, RANK and WORLD_SIZE alone; else a single process.
/// Throws Error if a variable is malformed, launchers contradict each other, or several processes have no address to
/// meet at.
Job resolve_job(const JobFlags& flags = {}, const Environment& environment = process_environment());

/// The job as `rank 1 of 4 (Open MPI), rendezvous 127.0.0.1:20311`.
std::string to_string(const Job& job);

}  // namespace troupe
