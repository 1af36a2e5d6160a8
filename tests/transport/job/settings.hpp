#pragma once

#include <map>
#include <optional>
#include <string>

#include "troupe/transport/job/job.hpp"

namespace troupe::testing {

using Settings = std::map<std::string, std::string>;

inline Environment environment_of(const Settings& settings) {
  return [settings](const std::string& name) -> std::optional<std::string> {
    const auto found = settings.find(name);
    return found != settings.end() ? std::optional(found->second) : std::nullopt;
  };
}

inline Job resolve(const Settings& settings, const JobFlags& flags = {}) {
  return resolve_job(flags, environment_of(settings));
}

inline Settings with(Settings settings, const Settings& changes) {
  for (const auto& [name, value] : changes) {
    if (value == "-")
      settings.erase(name);
    else
      settings[name] = value;
  }
  return settings;
}

// The variables that launchers set and resolvers read.
inline const Settings kTorchrun{{"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "1"},
                                {"MASTER_ADDR", "node7"},
                                {"MASTER_PORT", "29500"},
                                {"TORCHELASTIC_RUN_ID", "abc"},
                                {"TORCHELASTIC_RESTART_COUNT", "2"}};
inline const Settings kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"PMIX_RANK", "1"},
                               {"PMIX_NAMESPACE", "1638400001"}};
inline const Settings kPmi{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "3"}};
inline const Settings kSlurm{{"SLURM_PROCID", "5"},
                             {"SLURM_NTASKS", "7"},
                             {"SLURM_LOCALID", "1"},
                             {"SLURM_NODEID", "2"},
                             {"SLURM_NNODES", "4"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_JOB_ID", "4711"},
                             {"SLURM_STEP_NODELIST", "gnode[10,20-22]"},
                             {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}};
inline const Settings kHorovod{{"HOROVOD_RANK", "1"},       {"HOROVOD_SIZE", "2"},       {"HOROVOD_LOCAL_RANK", "1"},
                               {"HOROVOD_LOCAL_SIZE", "2"}, {"HOROVOD_CROSS_RANK", "0"}, {"HOROVOD_CROSS_SIZE", "1"}};
inline const Settings kRank{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "3000"}};

inline Settings tf_config(const std::string& text) {
  return {{"TF_CONFIG", text}};
}
inline const std::string kCluster = R"("cluster":{"chief":["c:1"],"worker":["w0:2","w1:3"]})";

}  // namespace troupe::testing
