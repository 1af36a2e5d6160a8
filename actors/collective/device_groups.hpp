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

/// Functions by which a process meets the other processes that have ranks of a communicator of the plan.
struct Meeting {
  /// Makes this process's end of a communicator on the host with one rank for each of `processes`, which all have ranks
  /// of the plan's communicator. Each of these processes calls the function once, with the same name. `name`
  /// distinguishes the communicators that are made for one communicator of the plan.
  std::function<std::shared_ptr<Communicator>(const std::string& name, const std::vector<int>& processes)> make_across;
  /// Returns the name of a process's machine, equal for all processes of the machine. If empty, every process has a
  /// machine of its own.
  std::function<std::string(int process)> machine_of = {};
  /// Called again and again while this process waits for the other processes. Throws, and so ends the wait, if one of
  /// them will not come.
  std::function<void()> check = {};
};

/// Makes the end that process `process` has of a plan's communicator whose tensors stay on devices. If the algorithm
/// needs the other processes, blocks until they have called this function, too, for at most NcclGroupOptions::limit.
/// Throws Error if a device or NCCL is missing, or if another process does not come.
std::shared_ptr<Communicator> make_device_communicator(const PlanCommunicator& named, int process,
                                                       const Meeting& meeting);

}  // namespace troupe
