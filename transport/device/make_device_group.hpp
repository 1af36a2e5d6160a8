#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

struct DeviceGroupOptions {
  /// How long a collective may take.
  std::chrono::milliseconds limit{30'000};
};

/// A group of devices of this process, rank r on `devices[r]`, of one kind; several ranks may share a device. Sums are
/// made by the devices' own kernels, in rank order: the bits of make_local_group(). Throws Error if there is no such
/// device, or if the kinds differ.
std::shared_ptr<Communicator> make_device_group(const std::vector<Device>& devices,
                                                const DeviceGroupOptions& options = {});

}  // namespace troupe
