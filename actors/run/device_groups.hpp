#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/device_communicator.hpp"

namespace troupe {

/// The processes of a communicator's ranks, each once, in the order of their first ranks.
std::vector<int> processes_of(const PlanCommunicator& named);

/// A process's part of a plan's communicator whose tensors stay on devices. `make_across` makes this process's rank of
/// a communicator on the host with one rank for each of processes_of(named); it is called if there are several. Blocks
/// until the other processes have come, where the algorithm needs them. Throws Error if a device or NCCL is missing, or
/// another process does not come.
using MakeAcross = std::function<std::shared_ptr<Communicator>()>;
std::shared_ptr<DeviceCommunicator> make_device_communicator(const PlanCommunicator& named, int process,
                                                             const MakeAcross& make_across);

}  // namespace troupe
