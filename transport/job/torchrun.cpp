#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

std::optional<Job> resolve_torchrun(const Environment& environment) {
  const LauncherVariables variables(environment, "torchrun");
  if (!variables.has("TORCHELASTIC_RUN_ID") && !variables.has("LOCAL_WORLD_SIZE")) return std::nullopt;
  auto job = variables.job("RANK", "WORLD_SIZE");
  job.local_rank = static_cast<int>(variables.number("LOCAL_RANK"));
  job.local_size = static_cast<int>(variables.number_or("LOCAL_WORLD_SIZE", -1));
  if (job.local_size >= 0 && job.local_rank >= job.local_size)
    refuse_variable("LOCAL_RANK", variables.text("LOCAL_RANK"),
                    "there are only " + variables.text("LOCAL_WORLD_SIZE") + " on this machine (LOCAL_WORLD_SIZE)");
  const auto run_id = environment("TORCHELASTIC_RUN_ID").value_or("none");
  job.run_id = run_id + "/" + environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  // The agent of torchrun keeps a store at MASTER_PORT.
  const bool port_in_use = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("False") == "True";
  job.rendezvous = master_address(environment, port_in_use ? 1 : 0).value_or("");
  return job;
}

/// Resolves processes that have RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as Kubeflow's PyTorchJob and many
/// scripts set them.
std::optional<Job> resolve_rank_variables(const Environment& environment) {
  const LauncherVariables variables(environment, "RANK");
  if (!variables.has("RANK") || !variables.has("WORLD_SIZE")) return std::nullopt;
  // With several processes per machine, RANK counts machines but WORLD_SIZE counts processes, and only torchrun knows
  // the ranks of the processes.
  if (variables.number_or("PET_NPROC_PER_NODE", 1) > 1)
    refuse_variable("PET_NPROC_PER_NODE", variables.text("PET_NPROC_PER_NODE"),
                    "several processes on a machine need torchrun, which has not started this one");
  auto job = variables.job("RANK", "WORLD_SIZE");
  job.local_rank = static_cast<int>(variables.number_or("LOCAL_RANK", -1));
  job.rendezvous = master_address(environment).value_or("");
  return job;
}

}  // namespace troupe
