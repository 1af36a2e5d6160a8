#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

std::optional<Job> resolve_open_mpi(const Environment& environment) {
  const LauncherVariables variables(environment, "Open MPI");
  if (!variables.has("OMPI_COMM_WORLD_SIZE")) return std::nullopt;
  auto job = variables.job("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  job.local_rank = static_cast<int>(variables.number_or("OMPI_COMM_WORLD_LOCAL_RANK", -1));
  job.local_size = static_cast<int>(variables.number_or("OMPI_COMM_WORLD_LOCAL_SIZE", -1));
  if (variables.has("PMIX_RANK") && variables.number("PMIX_RANK") != job.rank)
    refuse_variable("PMIX_RANK", variables.text("PMIX_RANK"),
                    "OMPI_COMM_WORLD_RANK='" + variables.text("OMPI_COMM_WORLD_RANK") + "' contradicts it");
  job.run_id = environment("PMIX_NAMESPACE").value_or("");
  job.rendezvous = meeting_place(environment, job);
  return job;
}

/// Resolves processes that MPICH's hydra or Intel MPI has started.
std::optional<Job> resolve_pmi(const Environment& environment) {
  const LauncherVariables variables(environment, "PMI");
  if (!variables.has("PMI_RANK") && !variables.has("PMI_SIZE")) return std::nullopt;
  auto job = variables.job("PMI_RANK", "PMI_SIZE");
  job.local_rank = static_cast<int>(variables.number_or("MPI_LOCALRANKID", -1));
  job.local_size = static_cast<int>(variables.number_or("MPI_LOCALNRANKS", -1));
  // The address in PMI_PORT is different in every run.
  job.run_id = environment("PMI_PORT").value_or(environment("PMI_ID").value_or(""));
  job.rendezvous = meeting_place(environment, job);
  return job;
}

}  // namespace troupe
