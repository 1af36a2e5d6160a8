#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

struct DeviceGroupOptions {
  /// The time that a collective may take. It counts from when all earlier collectives are done and the tensors of at
  /// least one rank of this process are ready.
  std::chrono::milliseconds limit{30'000};
};

/// Makes a Communicator all of whose ranks are in this process, with rank r on `devices[r]`. The devices must have one
/// type; several ranks may share a device. Kernels on the devices add in rank order, so a sum has the same bits as one
/// of make_local_group(). Throws Error if `devices` is empty, if a device does not exist, or if the types differ.
std::shared_ptr<Communicator> make_device_group(const std::vector<Device>& devices,
                                                const DeviceGroupOptions& options = {});

}  // namespace troupe
