#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Whether this build has the algorithm. `mpi` needs TROUPE_MPI; `nccl` needs NCCL at build time and its library at run
/// time.
bool is_available(AllReduceAlgorithm algorithm);

/// This process, and its connections to the others.
struct GroupSurroundings {
  int process = 0, world_size = 1;
  /// Returns a name that is equal for processes on the same machine.
  std::function<std::string(int process)> machine_of;
  /// Makes this process's end of a link to another process. Both ends use the same name, once.
  std::function<std::shared_ptr<Link>(int process, const std::string& name)> link;
};

/// See Cluster::communicator().
std::vector<std::shared_ptr<Communicator>> make_cluster_group(const GroupSurroundings& around, const std::string& name,
                                                              const std::vector<int>& processes,
                                                              AllReduceAlgorithm all_reduce);

}  // namespace troupe
