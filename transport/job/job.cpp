#include "troupe/transport/job/job.hpp"

#include <algorithm>
#include <array>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

namespace {

constexpr std::array kRoleNames{"any", "chief", "ps", "worker", "evaluator"};

std::string rank_of_size(const Job& job) {
  return "rank " + std::to_string(job.rank) + " of " + std::to_string(job.world_size);
}

/// Whether the variables of the launcher `source`, if set, always describe this process. A contradiction between two
/// such launchers is an error. Other variables may be inherited: those of Slurm may describe the step in which mpirun
/// runs.
bool is_definite(const std::string& source) {
  constexpr std::array kDefinite{"TF_CONFIG", "torchrun", "Open MPI", "PMI"};
  return std::ranges::find(kDefinite, source) != kDefinite.end();
}

/// Whether the variables of `outer` describe the agent of torchrun that has started this process: mpirun or srun has
/// started one agent on each node.
bool has_started_agent(const Job& outer, const Environment& environment) {
  return environment("GROUP_RANK") == std::to_string(outer.rank) &&
         environment("GROUP_WORLD_SIZE") == std::to_string(outer.world_size);
}

/// Whether the jobs of two launchers contradict each other. `first` is of the launcher that job_resolvers() has first.
/// A step of Slurm or LSF with more tasks may enclose a single process; any other launcher that has started several
/// processes has started them within a single one.
bool contradict(const Job& first, const Job& second, const Environment& environment) {
  if (first.rank == second.rank && first.world_size == second.world_size) return false;
  if (first.source == "torchrun" && has_started_agent(second, environment)) return false;
  if (is_definite(first.source) && is_definite(second.source)) return true;
  return first.world_size == 1 && second.source != "Slurm" && second.source != "LSF";
}

Job job_of_launcher(const Environment& environment) {
  std::optional<Job> first_job;
  for (const auto& resolve : job_resolvers()) {
    const auto job = resolve(environment);
    if (!job) continue;
    if (!first_job) {
      first_job = job;
      continue;
    }
    if (contradict(*first_job, *job, environment))
      throw Error("cluster", "the variables of " + first_job->source + " say " + rank_of_size(*first_job) +
                                 ", those of " + job->source + " say " + rank_of_size(*job));
  }
  if (!first_job || first_job->world_size == 1) refuse_incomplete(environment);
  return first_job.value_or(Job{});
}

Job job_of_flags(const JobFlags& flags) {
  Job job{*flags.rank, *flags.world_size};
  job.source = "flags";
  if (job.world_size < 1) throw Error("cluster", "a world size of " + std::to_string(job.world_size) + " is too small");
  if (job.rank < 0 || job.rank >= job.world_size)
    throw Error("cluster",
                "there is no rank " + std::to_string(job.rank) + " in a world of " + std::to_string(job.world_size));
  return job;
}

/// Throws Error if the address is not host:port with a port from 1 to 65,535.
void check_address(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) throw Error("cluster", "rendezvous '" + address + "' is not host:port");
  if (address.find(':') != colon)
    throw Error("cluster", "rendezvous '" + address +
                               "' is an IPv6 address, which is not supported: give an IPv4 address "
                               "or the name of a host that has one");
  const auto port = number_in("port of rendezvous", address.substr(colon + 1));
  if (port < 1 || port > 65'535) throw Error("cluster", "rendezvous '" + address + "': there is no such port");
}

}  // namespace

std::string to_string(ProcessRole role) {
  return kRoleNames.at(static_cast<std::size_t>(role));
}

ProcessRole process_role_of(const std::string& name) {
  for (std::size_t i = 0; i < kRoleNames.size(); ++i)
    if (name == kRoleNames[i]) return static_cast<ProcessRole>(i);
  throw Error("cluster", "there is no role '" + name + "', only chief, ps, worker, evaluator and any");
}

Job resolve_job(const JobFlags& flags, const Environment& environment) {
  if (flags.rank.has_value() != flags.world_size.has_value())
    throw Error("cluster", "rank and world size are given together or not at all");
  auto job = flags.rank ? job_of_flags(flags) : job_of_launcher(environment);
  if (!flags.rendezvous.empty()) job.rendezvous = flags.rendezvous;
  if (!flags.run_id.empty()) job.run_id = flags.run_id;
  if (flags.role) job.role = *flags.role;
  if (job.world_size == 1) return job;
  if (job.rendezvous.empty())
    throw Error("cluster", job.source + " says " + rank_of_size(job) +
                               ", but not where the ranks meet: give --rendezvous HOST:PORT of rank 0, or pass on "
                               "MASTER_ADDR and MASTER_PORT");
  check_address(job.rendezvous);
  return job;
}

std::string to_string(const Job& job) {
  const auto role = job.role == ProcessRole::any ? "" : ", " + to_string(job.role);
  return rank_of_size(job) + role + " (" + job.source + ")" +
         (job.rendezvous.empty() ? "" : ", rendezvous " + job.rendezvous);
}

}  // namespace troupe
