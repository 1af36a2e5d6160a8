#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// True if this build has the algorithm: mpi needs TROUPE_MPI, nccl needs NCCL at build time and a library to load.
bool is_available(AllReduceAlgorithm algorithm);

/// What a process knows of those among which it makes communicators.
struct GroupSurroundings {
  int process = 0, world_size = 1;
  /// The machine of a process.
  std::function<std::string(int process)> machine_of;
  /// This process's end of a link to another; both use the same name, once.
  std::function<std::shared_ptr<Link>(int process, const std::string& name)> link;
};

/// See Cluster::communicator().
std::vector<std::shared_ptr<Communicator>> make_cluster_group(const GroupSurroundings& around, const std::string& name,
                                                              const std::vector<int>& processes,
                                                              AllReduceAlgorithm all_reduce);

}  // namespace troupe
