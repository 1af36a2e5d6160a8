#pragma once

#include "troupe/actors/run/device_groups.hpp"

namespace troupe {

/// The parts of a plan's communicator whose devices are in several processes, for make_hierarchical_device_group().
/// Processes of one machine sum over NCCL where it can join their devices, which counts GPUs with the same number in
/// two processes as one; machines, and other processes, sum on the host. Blocks and throws like
/// make_device_communicator().
DeviceHierarchy make_device_hierarchy(const PlanCommunicator& named, int process, const Meeting& meeting);

}  // namespace troupe
