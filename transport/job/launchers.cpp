// The resolvers of all launchers except TF_CONFIG.

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "troupe/transport/job/launcher_variables.hpp"

namespace troupe {

namespace {

std::optional<Job> resolve_torchrun(const Environment& environment) {
  const LauncherVariables variables(environment, "torchrun");
  if (!variables.has("TORCHELASTIC_RUN_ID") && !variables.has("LOCAL_WORLD_SIZE")) return std::nullopt;
  auto job = variables.job("RANK", "WORLD_SIZE");
  job.local_rank = variables.number("LOCAL_RANK");
  job.local_size = variables.number_or("LOCAL_WORLD_SIZE", -1);
  if (job.local_size >= 0 && job.local_rank >= job.local_size)
    refuse_variable("LOCAL_RANK", variables.text("LOCAL_RANK"),
                    "there are only " + variables.text("LOCAL_WORLD_SIZE") + " on this machine (LOCAL_WORLD_SIZE)");
  const auto run_id = environment("TORCHELASTIC_RUN_ID").value_or("none");
  job.run_id = run_id + "/" + environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  // The agent of torchrun may itself listen at MASTER_PORT, as TORCHELASTIC_USE_AGENT_STORE says. The rendezvous then
  // uses the next port.
  const bool port_in_use = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("False") == "True";
  job.rendezvous = master_address(environment, port_in_use ? 1 : 0).value_or("");
  return job;
}

std::optional<Job> resolve_open_mpi(const Environment& environment) {
  const LauncherVariables variables(environment, "Open MPI");
  if (!variables.has("OMPI_COMM_WORLD_SIZE")) return std::nullopt;
  auto job = variables.job("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (variables.has("PMIX_RANK") && variables.number("PMIX_RANK") != job.rank)
    refuse_variable("PMIX_RANK", variables.text("PMIX_RANK"),
                    "OMPI_COMM_WORLD_RANK='" + variables.text("OMPI_COMM_WORLD_RANK") + "' contradicts it");
  job.run_id = environment("PMIX_NAMESPACE").value_or("");
  job.rendezvous = meeting_place(environment, job);
  return job;
}

/// Returns a text that is equal for the processes of one MPI job on this machine, and differs from that of all other
/// jobs that run at the time: the process that holds the other end of the socket in PMI_FD, which is Hydra's proxy, and
/// the namespace that numbers it. Empty if PMI_FD is not set or is no Unix socket.
std::string pmi_proxy(const Environment& environment) {
  const auto descriptor = environment("PMI_FD");
  ucred proxy{};
  socklen_t length = sizeof proxy;
  if (!descriptor || getsockopt(number_in("PMI_FD", *descriptor), SOL_SOCKET, SO_PEERCRED, &proxy, &length) != 0 ||
      proxy.pid <= 0)
    return {};
  struct stat numbering {};
  (void)stat("/proc/self/ns/pid", &numbering);
  return std::to_string(proxy.pid) + "." + std::to_string(numbering.st_ino);
}

/// Resolves the job of a process that MPICH's hydra or Intel MPI has started.
std::optional<Job> resolve_pmi(const Environment& environment) {
  const LauncherVariables variables(environment, "PMI");
  if (!variables.has("PMI_RANK") && !variables.has("PMI_SIZE")) return std::nullopt;
  auto job = variables.job("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  // The run id is the address in PMI_PORT, which differs in every run. Without it, the proxy tells jobs apart that run
  // on one machine; on several machines the user gives the address, and each machine has a proxy of its own.
  if (const auto port = environment("PMI_PORT"))
    job.run_id = *port;
  else if (job.local_size == job.world_size)
    job.run_id = pmi_proxy(environment);
  if (job.run_id.empty()) job.run_id = environment("PMI_ID").value_or("");
  job.rendezvous = meeting_place(environment, job);
  return job;
}

/// The smallest number that Slurm gives to the steps of batch scripts and interactive shells. The steps of srun have
/// lower numbers.
constexpr std::int64_t kFirstSpecialStep = 4'294'967'280;

bool is_slurm_step(const Environment& environment) {
  const auto step = environment("SLURM_STEP_ID");
  return step && (step->size() < 10 || std::atoll(step->c_str()) < kFirstSpecialStep);
}

/// Resolves the job of a process that srun has started, as the whole Slurm job or as one step of it.
std::optional<Job> resolve_slurm(const Environment& environment) {
  if (!is_slurm_step(environment)) return std::nullopt;
  const LauncherVariables variables(environment, "Slurm");
  const bool has_step_size = variables.has("SLURM_STEP_NUM_TASKS");
  auto job = variables.job("SLURM_PROCID", has_step_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", "SLURM_LOCALID");
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
  job.rendezvous = master_address(environment).value_or(address_on(host, job));
  return job;
}

/// Returns the first line of LSF's rank file at `path`, which names the host of rank 0. Throws Error if there is none.
std::string first_host(const std::string& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable))
    refuse_variable("LSB_DJOB_RANKFILE", path, "it must name a file");
  std::ifstream file(path);
  std::string host;
  if (!std::getline(file, host) || host.empty())
    refuse_variable("LSB_DJOB_RANKFILE", path, "the first line of the file must name a host");
  return host;
}

/// Resolves the job of a process that jsrun, the launcher of LSF, has started.
std::optional<Job> resolve_lsf(const Environment& environment) {
  const LauncherVariables variables(environment, "LSF");
  if (!variables.has("JSM_NAMESPACE_SIZE")) return std::nullopt;
  auto job = variables.job("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK");
  // The processes of one jsrun share a namespace of PMIx. A job of LSF may run several at a time.
  job.run_id = variables.text("LSB_JOBID") + "." + environment("PMIX_NAMESPACE").value_or("");
  const auto master = master_address(environment);
  job.rendezvous = master ? *master : address_on(first_host(variables.text("LSB_DJOB_RANKFILE")), job);
  return job;
}

std::optional<Job> resolve_horovod(const Environment& environment) {
  const LauncherVariables variables(environment, "Horovod");
  if (!variables.has("HOROVOD_SIZE")) return std::nullopt;
  auto job = variables.job("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE");
  job.run_id = environment("HOROVOD_GLOO_RENDEZVOUS_PORT").value_or("");
  job.rendezvous = meeting_place(environment, job);
  return job;
}

/// Resolves the job of a process that has RANK and WORLD_SIZE, as Kubeflow's PyTorchJob and many scripts set them,
/// usually with MASTER_ADDR and MASTER_PORT.
std::optional<Job> resolve_rank_variables(const Environment& environment) {
  const LauncherVariables variables(environment, "RANK");
  if (!variables.has("RANK") || !variables.has("WORLD_SIZE")) return std::nullopt;
  // PET_NPROC_PER_NODE is the number of processes on each machine in a PyTorchJob. If it is above 1, RANK counts
  // machines but WORLD_SIZE counts processes, and only torchrun knows the ranks of the processes.
  if (variables.number_or("PET_NPROC_PER_NODE", 1) > 1)
    refuse_variable("PET_NPROC_PER_NODE", variables.text("PET_NPROC_PER_NODE"),
                    "several processes on a machine need torchrun, which has not started this one");
  auto job = variables.job("RANK", "WORLD_SIZE", "LOCAL_RANK");
  job.rendezvous = master_address(environment).value_or("");
  return job;
}

/// The variables of a launcher that sets both: the rank of a process and the number of processes.
struct RankVariables {
  const char *rank, *world_size;
};
constexpr RankVariables kRankVariables[] = {{"RANK", "WORLD_SIZE"},
                                            {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                            {"PMI_RANK", "PMI_SIZE"},
                                            {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
                                            {"HOROVOD_RANK", "HOROVOD_SIZE"}};

}  // namespace

void refuse_incomplete(const Environment& environment) {
  for (const auto& [rank, world_size] : kRankVariables) {
    const auto rank_text = environment(rank), size_text = environment(world_size);
    if (rank_text.has_value() == size_text.has_value()) continue;
    const auto& [present, missing] = rank_text ? std::pair(rank, world_size) : std::pair(world_size, rank);
    refuse_variable(present, rank_text.value_or(size_text.value_or("")),
                    std::string(missing) + " is missing; a launcher sets both, and a single process has neither");
  }
  if (const auto task = environment("SLURM_PROCID"); task && *task != "0" && !environment("SLURM_STEP_ID"))
    refuse_variable("SLURM_PROCID", *task, "SLURM_STEP_ID is missing; srun sets both, and a batch script is task 0");
}

const std::vector<JobResolver>& job_resolvers() {
  static const std::vector<JobResolver> resolvers{resolve_tf_config, resolve_torchrun,      resolve_open_mpi,
                                                  resolve_pmi,       resolve_slurm,         resolve_lsf,
                                                  resolve_horovod,   resolve_rank_variables};
  return resolvers;
}

}  // namespace troupe
