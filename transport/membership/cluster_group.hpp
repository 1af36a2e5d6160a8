#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// Whether the algorithm can be used. `mpi` needs a build with TROUPE_MPI; `nccl` needs NCCL at build time and its
/// library at run time.
bool is_available(AllReduceAlgorithm algorithm);

/// The number of this process, the number of processes, and functions that name their machines and link them.
struct GroupSurroundings {
  int process = 0, world_size = 1;
  /// Returns a name that is equal for processes on the same machine.
  std::function<std::string(int process)> machine_of;
  /// Makes this process's end of a link to another process. Both ends use the same name; no two links have the same
  /// name.
  std::function<std::shared_ptr<Link>(int process, const std::string& name)> link;
};

/// Makes the group `name` in which rank r is in process `processes[r]`. Element r of the result is the communicator of
/// rank r if the rank is in this process, else null. All processes that have ranks of the group must call it with the
/// same `name`, `processes` and `all_reduce`. Throws Error for the algorithm `nccl`, whose tensors lie on devices.
std::vector<std::shared_ptr<Communicator>> make_cluster_group(const GroupSurroundings& around, const std::string& name,
                                                              const std::vector<int>& processes,
                                                              AllReduceAlgorithm all_reduce);

}  // namespace troupe
