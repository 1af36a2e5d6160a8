#pragma once

#include <vector>

#include "troupe/ops/core/device.hpp"

namespace troupe {

/// All GPUs of this machine; none if it has none, or if the library was built without them.
std::vector<Device> gpus();

/// All GPUs if there are any, else `cores` CPU devices. A build with CUDA that finds no GPU says so once, in a line on
/// stderr.
std::vector<Device> default_devices(int cores);

}  // namespace troupe
