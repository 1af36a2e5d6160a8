// The resolvers for batch systems (Slurm, LSF) and for Horovod.

#include <fstream>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/job/launcher_variables.hpp"
#include "troupe/transport/job/node_list.hpp"

namespace troupe {

namespace {

/// Slurm gives numbers from here on to the steps of batch scripts and interactive shells. Only lower steps are of srun.
constexpr std::int64_t kFirstSpecialStep = 4'294'967'280;

bool is_slurm_step(const Environment& environment) {
  const auto step = environment("SLURM_STEP_ID");
  if (!step || !environment("SLURM_PROCID")) return false;
  return step->size() < 10 || std::atoll(step->c_str()) < kFirstSpecialStep;
}

/// The first line of a rank file, which is the host of rank 0.
std::string first_host(const std::string& path) {
  std::ifstream file(path);
  std::string host;
  if (!std::getline(file, host) || host.empty())
    refuse_variable("LSB_DJOB_RANKFILE", path, "the first line of the file must name a host");
  return host;
}

}  // namespace

/// Resolves processes that srun has started, in a job of their own or in one step of several.
std::optional<Job> resolve_slurm(const Environment& environment) {
  if (!is_slurm_step(environment)) return std::nullopt;
  const LauncherVariables variables(environment, "Slurm");
  const bool has_step_size = variables.has("SLURM_STEP_NUM_TASKS");
  auto job = variables.job("SLURM_PROCID", has_step_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
  job.local_rank = static_cast<int>(variables.number_or("SLURM_LOCALID", -1));
  const bool has_step_nodes = variables.has("SLURM_STEP_NODELIST");
  const std::string nodes_name = has_step_nodes ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const auto nodes = expand_node_list(nodes_name, variables.text(nodes_name));
  if (variables.has("SLURM_STEP_TASKS_PER_NODE")) {
    const auto tasks = expand_task_counts("SLURM_STEP_TASKS_PER_NODE", variables.text("SLURM_STEP_TASKS_PER_NODE"));
    const auto node = static_cast<std::size_t>(variables.number_or("SLURM_NODEID", 0));
    if (tasks.size() != nodes.size() || node >= tasks.size())
      refuse_variable("SLURM_STEP_TASKS_PER_NODE", variables.text("SLURM_STEP_TASKS_PER_NODE"),
                      nodes_name + "='" + variables.text(nodes_name) + "' and SLURM_NODEID=" + std::to_string(node) +
                          " contradict it");
    job.local_size = tasks[node];
  }
  job.run_id = environment("SLURM_JOB_ID").value_or("") + "." + variables.text("SLURM_STEP_ID");
  const auto host = nodes.size() == 1 ? "127.0.0.1" : nodes[0];
  job.rendezvous =
      master_address(environment).value_or(host + ":" + std::to_string(port_of(job.source + "/" + job.run_id)));
  return job;
}

/// Resolves processes that jsrun has started.
std::optional<Job> resolve_lsf(const Environment& environment) {
  const LauncherVariables variables(environment, "LSF");
  if (!variables.has("JSM_NAMESPACE_SIZE")) return std::nullopt;
  auto job = variables.job("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE");
  job.local_rank = static_cast<int>(variables.number_or("JSM_NAMESPACE_LOCAL_RANK", -1));
  job.run_id = variables.text("LSB_JOBID");
  const auto port = std::to_string(port_of(job.source + "/" + job.run_id));
  const auto master = master_address(environment);
  job.rendezvous = master ? *master : first_host(variables.text("LSB_DJOB_RANKFILE")) + ":" + port;
  return job;
}

std::optional<Job> resolve_horovod(const Environment& environment) {
  const LauncherVariables variables(environment, "Horovod");
  if (!variables.has("HOROVOD_SIZE")) return std::nullopt;
  auto job = variables.job("HOROVOD_RANK", "HOROVOD_SIZE");
  job.local_rank = static_cast<int>(variables.number_or("HOROVOD_LOCAL_RANK", -1));
  job.local_size = static_cast<int>(variables.number_or("HOROVOD_LOCAL_SIZE", -1));
  job.run_id = environment("HOROVOD_GLOO_RENDEZVOUS_PORT").value_or("");
  job.rendezvous = meeting_place(environment, job);
  return job;
}

}  // namespace troupe
