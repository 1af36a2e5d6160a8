#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The processes of a communicator's ranks, each once, in the order of their first ranks.
std::vector<int> processes_of(const PlanCommunicator& named);

/// The functions by which a process meets the other processes that have ranks of a communicator.
struct Meeting {
  /// Makes this process's rank of a communicator on the host that has one rank for each of `processes`, which are some
  /// processes of the group. Each of them calls it once, with the same name. Every group uses names of its own.
  std::function<std::shared_ptr<Communicator>(const std::string& name, const std::vector<int>& processes)> make_across;
  /// The name of a process's machine, equal for all processes of the machine. If empty, every process has a machine of
  /// its own.
  std::function<std::string(int process)> machine_of = {};
  /// Called while this process waits for the others. Throws if one of them will not come.
  std::function<void()> check = {};
};

/// Makes a process's part of a plan's communicator whose tensors stay on devices. If the algorithm needs the other
/// processes, blocks until they have come, for at most the limit of NcclGroupOptions. Throws Error if a device or NCCL
/// is missing, or another process does not come.
std::shared_ptr<Communicator> make_device_communicator(const PlanCommunicator& named, int process,
                                                       const Meeting& meeting);

}  // namespace troupe
