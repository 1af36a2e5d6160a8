#pragma once

#include <vector>

#include "troupe/ops/core/device.hpp"

namespace troupe {

/// All GPUs of this machine. Empty if the machine has none, or if the library was built without GPU support.
std::vector<Device> gpus();

/// All GPUs if there are any, else `cores` CPU devices. A build with CUDA that finds no GPU reports this in a line on
/// stderr, once in a process.
std::vector<Device> default_devices(int cores);

}  // namespace troupe
