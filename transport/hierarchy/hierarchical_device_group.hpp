#pragma once

#include <memory>
#include <vector>

#include "troupe/transport/device/make_device_group.hpp"

namespace troupe {

/// The parts of a group of devices in several processes, seen from one of them.
struct DeviceHierarchy {
  /// The process of every rank, by rank.
  std::vector<int> process_of;
  /// The ranks of this process, numbered in their order.
  std::shared_ptr<Communicator> inside;
  /// One rank a process, in the order of their first ranks, on the host. The group owns it.
  std::shared_ptr<Communicator> across;
  DeviceGroupOptions options = {};
  /// The ranks of this machine, numbered in their order, if some are in other processes and the devices can sum
  /// together: they do before `across` does, which then takes the sum of a machine from the process of its first rank
  /// alone. Null: each process sums its own.
  std::shared_ptr<Communicator> machine = {};
};

/// A group that sums on the devices of every process or machine first, and then across these through memory of the
/// host. A sum is that of their sums: the same bits on all ranks and from run to run. Throws Error if the parts do not
/// fit together.
std::shared_ptr<Communicator> make_hierarchical_device_group(DeviceHierarchy hierarchy);

}  // namespace troupe
