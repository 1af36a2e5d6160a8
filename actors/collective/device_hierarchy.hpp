#pragma once

#include "troupe/actors/collective/device_groups.hpp"

namespace troupe {

/// Makes the communicator of a plan whose devices are in several processes, for AllReduceAlgorithm::hierarchy.
/// Processes of one machine sum over NCCL if all of them have it and each of their ranks has a GPU with a number of its
/// own; machines, and other processes, sum on the host. Blocks and throws like make_device_communicator().
std::shared_ptr<Communicator> make_device_hierarchy(const PlanCommunicator& named, int process, const Meeting& meeting);

}  // namespace troupe
