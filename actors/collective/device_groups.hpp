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

/// How a process meets the others that have ranks of a communicator.
struct Meeting {
  /// Makes this process's rank of a communicator on the host with one rank for each of some processes of the group,
  /// which all call it with the same name, once. The names are different for each group.
  std::function<std::shared_ptr<Communicator>(const std::string& name, const std::vector<int>& processes)> make_across;
  /// The same for processes of one machine. Empty: each has its own.
  std::function<std::string(int process)> machine_of = {};
  /// Called while it waits for the others; throws if one of them will not come.
  std::function<void()> check = {};
};

/// A process's part of a plan's communicator whose tensors stay on devices. Blocks until the other processes have come,
/// where the algorithm needs them, for at most the limit of NcclGroupOptions. Throws Error if a device or NCCL is
/// missing, or another process does not come.
std::shared_ptr<Communicator> make_device_communicator(const PlanCommunicator& named, int process,
                                                       const Meeting& meeting);

}  // namespace troupe
