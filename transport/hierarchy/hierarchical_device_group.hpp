#pragma once

#include <memory>
#include <vector>

#include "troupe/transport/device/make_device_group.hpp"

namespace troupe {

/// The communicators of one process from which make_hierarchical_device_group() makes a group of devices over several
/// processes.
struct DeviceHierarchy {
  /// The number of the process of every rank, by rank.
  std::vector<int> process_of;
  /// A group of the ranks of this process on their devices, numbered from 0 in ascending order.
  std::shared_ptr<Communicator> inside;
  /// A communicator on the host with one rank for each process, in the order of the first ranks of the processes. No
  /// other code may use it.
  std::shared_ptr<Communicator> across;
  DeviceGroupOptions options = {};
  /// A group of the ranks of this machine, in all of its processes, on their devices, numbered from 0 in ascending
  /// order. The devices sum over this group before `across` does. `across` must then take the sum of a machine from the
  /// process of the machine's first rank alone: see Hierarchy::once_per_machine. Null if every process sums over
  /// `inside`.
  std::shared_ptr<Communicator> machine = {};
};

/// Makes a group of devices over several processes. It sums on the devices of every process, or of every machine if
/// DeviceHierarchy::machine is set, and then adds these sums through memory of the host. A sum has the same bits on all
/// ranks and from run to run. Throws Error if the communicators do not fit `process_of`.
std::shared_ptr<Communicator> make_hierarchical_device_group(DeviceHierarchy hierarchy);

}  // namespace troupe
